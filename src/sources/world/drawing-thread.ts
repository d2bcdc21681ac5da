import { parentPort } from 'node:worker_threads';
import { errorCopier } from '../../domain/error-copier.ts';
import { createChannel } from '../../lib/channel.ts';
import { threadPort } from '../../lib/open-thread.ts';
import { DRAW } from './drawing-pool.ts';
import { MapPainter } from './map-painter.ts';

const port = parentPort;
if (!port) throw new Error('This file is a thread of the built-in map.');

const painter = new MapPainter();

createChannel(threadPort(port), errorCopier).handle(DRAW, ({ view, style }) => ({
  bytes: painter.paint(view, style),
}));
