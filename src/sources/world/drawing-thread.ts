import { type MessagePort, parentPort } from 'node:worker_threads';
import type { DrawingJob, DrawingResult } from './drawing-pool.ts';
import { MapPainter } from './map-painter.ts';

/** The thread draws one job at a time, in the order they come. */
function serve(port: MessagePort): void {
  const painter = new MapPainter();
  port.on('message', (job: DrawingJob) => {
    const result = resultOf(painter, job);
    port.postMessage(result, result.kind === 'drawn' ? [result.pixels.buffer] : []);
  });
}

function resultOf(painter: MapPainter, job: DrawingJob): DrawingResult {
  try {
    return { kind: 'drawn', pixels: painter.paint(job.view, job.style) };
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

if (parentPort) serve(parentPort);
