import { parentPort, workerData } from 'node:worker_threads';
import { bundleLayout } from './bundle-layout.ts';
import type { WriterAnswer, WriterCommand, WriterRequest, WriterResults } from './bundle-writer-messages.ts';
import { BundleWriting } from './bundle-writing.ts';
import { failureMessage } from './sqlite-failure.ts';

/** Milliseconds between looks for bundles that nobody writes any more. */
const TIDY_INTERVAL = 1000;

const port = parentPort;
if (!port) throw new Error('This file is a thread of the bundle store.');

const { root } = workerData as { readonly root: string };
const tell = (answer: WriterAnswer) => port.postMessage(answer);
const writing = new BundleWriting(bundleLayout(root), (damaged, reason) => tell({ damaged, reason }));
const tidying = setInterval(() => writing.closeIdle(performance.now()), TIDY_INTERVAL);

port.on('message', ({ id, command }: WriterRequest) => {
  try {
    tell({ id, result: carryOut(command) });
  } catch (error) {
    tell({ id, failure: failureMessage(error) });
  }
});

function carryOut(command: WriterCommand): WriterResults[keyof WriterResults] {
  switch (command.type) {
    case 'put':
      return writing.put(command);
    case 'delete':
      return writing.delete(command);
    case 'freshen':
      return writing.freshen(command);
    case 'discard-tile':
      return writing.discardTile(command);
    case 'discard-bundle':
      return writing.discardBundle(command.path);
    case 'rest':
      writing.rest(command.path);
      return null;
    case 'recount':
      return writing.recount(command.folder);
    case 'raise-all':
      writing.raiseAll(command.layers);
      return null;
    case 'raise':
      return writing.raise(command.layer, command.places);
    case 'dropping':
      return writing.dropping(command.folder);
    case 'close-below':
      writing.closeBelow(command.folder, command.mark);
      return null;
    case 'close':
      clearInterval(tidying);
      writing.close();
      return null;
  }
}
