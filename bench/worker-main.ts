/** The thin worker as a process of its own; options as JSON in its one argument, orders over the channel. */
import type { WorkerOptions, WorkerReport } from './load/messages.ts';
import { serveOrders } from './load/serve-orders.ts';
import { nowMs } from './load/time.ts';
import { ThinWorker } from './load/worker.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as WorkerOptions;
const worker = new ThinWorker(options);
worker.start();
const tell = serveOrders<WorkerReport>((order) => {
  switch (order.kind) {
    case 'record':
      return worker.record(order.on);
    case 'report':
      return tell({ kind: 'report', report: worker.report() });
    case 'watch-first-task':
      return worker.onFirstTask(() => tell({ kind: 'first-task', afterMs: nowMs() - order.since }));
    case 'stop':
      return worker.stop();
    case 'go':
    case 'drain':
      return undefined;
  }
});
