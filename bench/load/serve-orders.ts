/**
 * A helper's end of the channel to the bench: takes orders, tells news, and never outlives the bench.
 */
import type { News, Order } from './messages.ts';

/** Answers orders until the last, and says `ready`. Returns how news are told. */
export function serveOrders<Report>(obey: (order: Order) => void): (news: News<Report>) => void {
  // A bench that is gone hears nothing: 'disconnect' ends this process.
  const tell = (news: News<Report>) => void process.send?.(news, undefined, undefined, () => {});
  process.on('message', (order: Order) => {
    obey(order);
    if (order.kind === 'stop') process.exit(0);
  });
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C on a terminal reaches the whole group: the bench ends its helpers in order.
  process.on('SIGINT', () => {});
  tell({ kind: 'ready' });
  return tell;
}
