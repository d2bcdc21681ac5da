import { type AreaShape, bytesOf, shapeOfBytes } from '../domain/area-shape.ts';
import type { Polygon } from '../domain/bounds.ts';
import { errorCopier } from '../domain/error-copier.ts';
import type { GridSet } from '../domain/grid-set.ts';
import type { AreaSource, MeasuredShape } from '../domain/named-area.ts';
import type { AreaPlacer, ShapeInCrs } from '../domain/placed-area.ts';
import type { MessageKind } from '../lib/channel.ts';
import type { Logger } from '../lib/logger.ts';
import { openThread } from '../lib/open-thread.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { MEASURE_FILE, OUTLINE_AREA, PLACE_AREA, READ_AREA } from './area-messages.ts';

export type AreaThread = ReturnType<typeof openAreaThread>;

/** Reads and converts shapes of up to millions of points; between two of them it ends, and its memory is free. */
export function openAreaThread(log: Logger) {
  const thread = openThread({
    start: () => spawnThread(import.meta.url, 'area-thread'),
    errors: errorCopier,
    log,
    died: 'the thread that reads areas died; the next area starts another',
  });
  let jobs = 0;
  let closing: Promise<unknown> = Promise.resolve();

  async function ask<Body, Reply>(kind: MessageKind<Body, Reply>, body: Body): Promise<Reply> {
    jobs++;
    await closing;
    return thread.ask(kind, body).finally(() => {
      if (--jobs === 0) closing = thread.close();
    });
  }

  const measured = <Reply extends { readonly bytes: Uint8Array }>({ bytes, ...rest }: Reply) => ({
    ...rest,
    shape: shapeOfBytes(bytes),
  });
  // What is sent is transferred.
  const copyOf = (shape: AreaShape) => bytesOf(shape.slice());
  const placer: AreaPlacer = {
    async place(gridSet: GridSet, { srs, shape }: ShapeInCrs): Promise<AreaShape> {
      return shapeOfBytes((await ask(PLACE_AREA, { gridSet, srs, bytes: copyOf(shape) })).bytes);
    },
    outline: (gridSet: GridSet, { srs, shape }: ShapeInCrs): Promise<readonly Polygon[]> =>
      ask(OUTLINE_AREA, { gridSet, srs, bytes: copyOf(shape) }),
  };
  return {
    placer,
    /** The shape of an area as its source has it now, and boxes around the places that differ from what it was. */
    read: async (source: AreaSource, srs: number, was: ShapeInCrs) =>
      measured(await ask(READ_AREA, { source, srs, was: was.srs, bytes: copyOf(was.shape) })),
    measureFile: async (srs: number, path: string): Promise<MeasuredShape> =>
      measured(await ask(MEASURE_FILE, { srs, path })),
    async close(): Promise<void> {
      await closing;
      await thread.close();
    },
  };
}
