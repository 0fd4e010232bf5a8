import { describe } from 'vitest';
import { deadLettersConformance } from '../conformance/dead-letters.ts';
import { lossesConformance } from '../conformance/losses.ts';
import { MemoryDeadLetters } from './dead-letters.ts';
import { MemoryLosses } from './losses.ts';

describe('dead letters in memory', () =>
  deadLettersConformance(async () => new MemoryDeadLetters()));
describe('losses in memory', () => lossesConformance(async () => new MemoryLosses()));
