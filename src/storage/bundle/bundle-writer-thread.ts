import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { bundleLayout } from './bundle-layout.ts';
import type { WriterRequest, WriterResponse } from './bundle-writer.ts';
import { BundleWriting } from './bundle-writing.ts';
import { storeFailure } from './sqlite-failure.ts';
import type { PutCommand } from './write-commands.ts';

/** Milliseconds between checks for bundles without writers. */
const TIDY_INTERVAL = 1000;

const port = parentPort;
if (!port) throw new Error('This file is a thread of the bundle store.');

const { root } = workerData as { readonly root: string };
const reply = (response: WriterResponse) => port.postMessage(response);
const writing = new BundleWriting(bundleLayout(root), (damaged, reason) => reply({ damaged, reason }));
const tidying = setInterval(() => writing.closeIdle(performance.now()), TIDY_INTERVAL);

function perform({ id, method, parameters }: WriterRequest): void {
  try {
    if (method === 'close') clearInterval(tidying);
    const work = writing[method] as (...parameters: readonly unknown[]) => unknown;
    reply({ id, result: work.apply(writing, [...parameters]) });
  } catch (error) {
    reply({ id, failure: errorCopier.write(storeFailure(error)) });
  }
}

/** False when one of them fails: nothing is stored, and each is tried alone. */
function putTogether(requests: readonly WriterRequest[]): boolean {
  try {
    const changes = writing.putTogether(requests.map(({ parameters }) => parameters[0] as PutCommand));
    for (const [at, { id }] of requests.entries()) reply({ id, result: changes[at] });
    return true;
  } catch {
    return false;
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
    if (puts.length < 2 || !putTogether(puts)) puts.forEach(perform);
    requests.splice(0, 1).forEach(perform);
  }
});
