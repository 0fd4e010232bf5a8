/** A handler of calls that waits until its call is over for it: for tests of what ends a call. */
import type { AtollError } from '../../errors.ts';
import type { RpcCall, RpcReply } from '../server-call.ts';

/** A handler that waits for its signal, and a promise of the reason that it saw. */
export function parked() {
  let arrived = () => {};
  const began = new Promise<void>((resolve) => (arrived = resolve));
  let say = (_reason: AtollError) => {};
  const reason = new Promise<AtollError>((resolve) => (say = resolve));
  const handle = (call: RpcCall) =>
    new Promise<RpcReply>((_resolve, reject) => {
      call.signal.addEventListener('abort', () => {
        say(call.signal.reason as AtollError);
        reject(call.signal.reason as AtollError);
      });
      arrived();
    });
  return { handle, began, reason };
}
