import { parentPort, workerData } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { bundleLayout } from './bundle-layout.ts';
import type { WriterAnswer, WriterRequest } from './bundle-writer.ts';
import { BundleWriting } from './bundle-writing.ts';
import { storeFailure } from './sqlite-failure.ts';

/** Milliseconds between looks for bundles that nobody writes any more. */
const TIDY_INTERVAL = 1000;

const port = parentPort;
if (!port) throw new Error('This file is a thread of the bundle store.');

const { root } = workerData as { readonly root: string };
const tell = (answer: WriterAnswer) => port.postMessage(answer);
const writing = new BundleWriting(bundleLayout(root), (damaged, reason) => tell({ damaged, reason }));
const tidying = setInterval(() => writing.closeIdle(performance.now()), TIDY_INTERVAL);

port.on('message', ({ id, method, given }: WriterRequest) => {
  try {
    if (method === 'close') clearInterval(tidying);
    const work = writing[method] as (...given: readonly unknown[]) => unknown;
    tell({ id, result: work.apply(writing, [...given]) });
  } catch (error) {
    tell({ id, failure: errorCopier.write(storeFailure(error)) });
  }
});
