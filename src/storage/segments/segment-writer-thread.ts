import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { storeFailure } from '../index/index-failure.ts';
import type { WriterRequest, WriterResponse } from './segment-writer.ts';
import { openSegmentWriting, type PutCommand, type WriterData } from './segment-writing.ts';

/** Milliseconds until upkeep is tried again after a failure. */
const UPKEEP_PAUSE = 10_000;

const port = parentPort;
if (!port) throw new Error('This file is a thread of the tile store.');

const writing = openSegmentWriting(workerData as WriterData);
const reply = (response: WriterResponse) => port.postMessage(response);
let upkeep = setTimeout(doUpkeep, 0);

function doUpkeep(): void {
  let pause = UPKEEP_PAUSE;
  try {
    pause = writing.upkeep();
  } catch (error) {
    reply({ trouble: errorCopier.write(storeFailure(error)) });
  }
  upkeep = setTimeout(doUpkeep, pause);
}

/** Space is given back as soon as no command waits. */
function wakeUpkeep(): void {
  clearTimeout(upkeep);
  upkeep = setTimeout(doUpkeep, 0);
}

function perform({ id, method, parameters }: WriterRequest): void {
  try {
    if (method === 'close') clearTimeout(upkeep);
    const work = writing[method] as (...parameters: readonly unknown[]) => unknown;
    reply({ id, result: work.apply(writing, [...parameters]) });
    if (method === 'drop') wakeUpkeep();
  } catch (error) {
    reply({ id, failure: errorCopier.write(storeFailure(error)) });
  }
}

/** All of them are stored, or refused, in one transaction. */
function putTogether(requests: readonly WriterRequest[]): void {
  try {
    const results = writing.putTogether(requests.map(({ parameters }) => parameters[0] as PutCommand));
    for (const [at, { id }] of requests.entries()) {
      const result = results[at];
      const isRefused = result instanceof TilewardenError;
      reply(isRefused ? { id, failure: errorCopier.write(result) } : { id, result });
    }
  } catch (error) {
    const failure = errorCopier.write(storeFailure(error));
    for (const { id } of requests) reply({ id, failure });
  }
}

/** Includes commands that arrived in between: writes in a row share a transaction. */
port.on('message', (first: WriterRequest) => {
  const requests = [first];
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
    requests.push(next.message);
  while (requests.length > 0) {
    const other = requests.findIndex(({ method }) => method !== 'put');
    const puts = requests.splice(0, other < 0 ? requests.length : other);
    if (puts.length > 0) putTogether(puts);
    requests.splice(0, 1).forEach(perform);
  }
});
