import { workerData } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { createDeferred, type Deferred } from '../../lib/deferred.ts';
import { channelToParent } from '../../lib/open-thread.ts';
import { storeFailure } from '../index/index-failure.ts';
import { NO_CHANGE, type StoreChange } from '../store.ts';
import { COMMAND, PUT, TROUBLE } from './segment-writer.ts';
import { openSegmentWriting, type PutCommand, type WriterData } from './segment-writing.ts';

/** Milliseconds before upkeep is retried after a failure. */
const UPKEEP_PAUSE_MS = 10_000;

const writing = openSegmentWriting(workerData as WriterData);
const channel = channelToParent(errorCopier);
let upkeep = setTimeout(doUpkeep, 0);
/** Puts that arrive in the same turn of the event loop share a transaction. */
let puts: { readonly command: PutCommand; readonly reply: Deferred<StoreChange> }[] = [];

function doUpkeep(): void {
  let pause = UPKEEP_PAUSE_MS;
  try {
    pause = writing.upkeep();
  } catch (error) {
    channel.tell(TROUBLE, errorCopier.write(storeFailure(error)));
  }
  upkeep = setTimeout(doUpkeep, pause);
}

/** Stores or refuses all waiting puts in one transaction. */
function putTogether(): void {
  const together = puts;
  puts = [];
  if (together.length === 0) return;
  try {
    const results = writing.putTogether(together.map(({ command }) => command));
    for (const [at, { reply }] of together.entries()) {
      const result = results[at] ?? NO_CHANGE;
      if (result instanceof TilewardenError) reply.reject(result);
      else reply.resolve(result);
    }
  } catch (error) {
    for (const { reply } of together) reply.reject(storeFailure(error));
  }
}

channel.handle(PUT, (command) => {
  const reply = createDeferred<StoreChange>();
  if (puts.push({ command, reply }) === 1) setImmediate(putTogether);
  return reply.promise;
});

channel.handle(COMMAND, ({ method, parameters }) => {
  putTogether();
  if (method === 'close' || method === 'drop') clearTimeout(upkeep);
  try {
    return (writing[method] as (...parameters: readonly unknown[]) => unknown).apply(writing, [
      ...parameters,
    ]);
  } catch (error) {
    throw storeFailure(error);
  } finally {
    // Upkeep comes after the commands that are already waiting.
    if (method === 'drop') upkeep = setTimeout(doUpkeep, 0);
  }
});
