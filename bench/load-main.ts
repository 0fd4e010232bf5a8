/** The load generator as a process of its own; options as JSON in its one argument, orders over the channel. */
import { LoadGenerator } from './load/generator.ts';
import type { LoadOptions, LoadReport } from './load/messages.ts';
import { serveOrders } from './load/serve-orders.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const generator = new LoadGenerator(options);
const tell = serveOrders<LoadReport>((order) => {
  switch (order.kind) {
    case 'go':
      void generator.run(() => tell({ kind: 'opened' })).then(() => tell({ kind: 'finished' }));
      return;
    case 'record':
      return generator.record(order.on);
    case 'report':
      return tell({ kind: 'report', report: generator.report() });
    case 'drain':
      return generator.drain();
    case 'watch-first-task':
    case 'stop':
      return undefined;
  }
});
