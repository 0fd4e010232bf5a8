/** Gives a move up as its phase allows: before the flip everything is as before; after it, `back` is the way. */
import type { EpochMs } from '../../kernel/clock.ts';
import { rollBack } from '../../fleet/handover.ts';
import type { FleetMap } from '../../fleet/map.ts';
import { abortBeforeHandover, type MoveRef } from '../../fleet/move-changes.ts';
import { moveById } from '../../fleet/move.ts';
import { refuse, type Change } from '../../fleet/table.ts';

/** In a handover this races its flip by compare-and-set: one of them happens. */
export function abortMove(
  map: FleetMap,
  asked: MoveRef & { readonly at: EpochMs; readonly reason: string },
): Change {
  const namespace = map.namespaces[asked.namespaceId];
  const move = namespace === undefined ? undefined : moveById(namespace, asked.moveId);
  switch (move?.phase) {
    case 'handover':
      return rollBack(map, { ...asked, outcome: 'aborted' });
    case 'reopen':
      return { kind: 'unchanged' };
    case 'release':
    case 'settled': {
      const message = `Move ${move.id} has been switched to ${move.to}: switch back with atoll move back.`;
      return refuse('failed-precondition', message);
    }
    case 'finished': {
      const message = `Move ${move.id} is over (${move.outcome ?? 'finished'}): nothing to abort.`;
      return refuse('failed-precondition', message);
    }
    case 'seed':
    case 'tail':
    case 'verify':
    case 'reverse':
    case undefined:
      return abortBeforeHandover(map, asked);
  }
}
