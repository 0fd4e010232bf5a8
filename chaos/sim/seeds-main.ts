/** A process of a campaign (forked.ts): runs the seeds that it is sent, worlds of the kind that its argument names. */
import { measured } from './campaign.ts';
import { kindNamed } from './world-kind.ts';

const kind = kindNamed(process.argv[2] ?? '');

process.on('message', (seed: number) => {
  // The campaign may have been stopped meanwhile: nobody is left to tell, and this process ends.
  void measured(kind, seed).then((run) => process.send?.(run, () => {}));
});
