/** Where something of a fleet runs: a process behind its gate. */
import type { HostGate } from '../host-gate.ts';

export type Place = { readonly name: string; readonly gate: HostGate };
