import { fleetMapConformance } from '../conformance/fleet-map.ts';
import { MemoryFleetMap } from './fleet-map.ts';

fleetMapConformance('the fleet map in memory', async () => new MemoryFleetMap());
