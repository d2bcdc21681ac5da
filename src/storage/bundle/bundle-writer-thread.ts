import { workerData } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { createDeferred, type Deferred } from '../../lib/deferred.ts';
import { channelToParent } from '../../lib/open-thread.ts';
import { bundleLayout } from './bundle-layout.ts';
import { DAMAGED, WRITE, type WriteRequest } from './bundle-writer.ts';
import { BundleWriting } from './bundle-writing.ts';
import { storeFailure } from './sqlite-failure.ts';
import type { PutCommand } from './write-commands.ts';

/** Milliseconds between looks for bundles that nobody writes any more. */
const TIDY_INTERVAL = 1000;

interface Waiting extends WriteRequest {
  readonly answer: Deferred<unknown>;
}

const { root } = workerData as { readonly root: string };
const channel = channelToParent(errorCopier);
const writing = new BundleWriting(bundleLayout(root), (file, reason) =>
  channel.tell(DAMAGED, { file, reason }),
);
const tidying = setInterval(() => writing.closeIdle(performance.now()), TIDY_INTERVAL);
const waiting: Waiting[] = [];

channel.handle(WRITE, (request) => {
  const answer = createDeferred<unknown>();
  // What comes with it is taken first: tiles that lie one behind the other share a transaction.
  if (waiting.push({ ...request, answer }) === 1) setImmediate(workOff);
  return answer.promise;
});

/** The next command, or all tiles up to the next other one; their answers go out before what follows them is done. */
function workOff(): void {
  const other = waiting.findIndex(({ method }) => method !== 'put');
  const next = waiting.slice(0, other < 0 ? waiting.length : Math.max(1, other));
  if (next.length < 2 || !putTogether(next)) next.forEach(perform);
  waiting.splice(0, next.length);
  if (waiting.length > 0) setImmediate(workOff);
}

function perform({ method, given, answer }: Waiting): void {
  try {
    if (method === 'close') clearInterval(tidying);
    const work = writing[method] as (...given: readonly unknown[]) => unknown;
    answer.resolve(work.apply(writing, [...given]));
  } catch (error) {
    answer.reject(storeFailure(error));
  }
}

/** False when one of them fails, and nothing has been done: each is then to answer for itself. */
function putTogether(puts: readonly Waiting[]): boolean {
  try {
    const changes = writing.putTogether(puts.map(({ given }) => given[0] as PutCommand));
    for (const [at, { answer }] of puts.entries()) answer.resolve(changes[at]);
    return true;
  } catch {
    return false;
  }
}
