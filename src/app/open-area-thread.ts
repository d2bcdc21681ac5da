import type { ShapeReader } from '../catalog/read-area.ts';
import type { SettingsInput } from '../config/environment.ts';
import type { ReadSettings } from '../config/load-settings.ts';
import { SettingsError } from '../config/settings-error.ts';
import { type AreaShape, bytesOf, shapeOfBytes } from '../domain/area-shape.ts';
import type { Polygon } from '../domain/bounds.ts';
import { errorCopier } from '../domain/error-copier.ts';
import type { GridSet } from '../domain/grid-set.ts';
import type { AreaPlacer, ShapeInCrs } from '../domain/placed-area.ts';
import type { MessageKind } from '../lib/channel.ts';
import type { Logger } from '../lib/logger.ts';
import { openThread } from '../lib/open-thread.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { OUTLINE_AREA, PLACE_AREA, READ_AREA, READ_SETTINGS } from './area-messages.ts';

/**
 * Reads and converts areas of up to millions of points, and the configuration file, which may have such areas in it.
 * The thread ends with its last job, which frees its memory.
 */
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

  // Sending takes the memory away from this thread, which still needs the shape.
  const copyOf = (shape: AreaShape) => bytesOf(shape.slice());
  const placer: AreaPlacer = {
    async place(gridSet: GridSet, { srs, shape }: ShapeInCrs): Promise<AreaShape> {
      return shapeOfBytes((await ask(PLACE_AREA, { gridSet, srs, bytes: copyOf(shape) })).bytes);
    },
    outline: (gridSet: GridSet, { srs, shape }: ShapeInCrs): Promise<readonly Polygon[]> =>
      ask(OUTLINE_AREA, { gridSet, srs, bytes: copyOf(shape) }),
  };
  const readArea: ShapeReader = async (source, srs, was) => {
    const body = { source, srs, was: was.srs, bytes: copyOf(was.shape) };
    const { bytes, ...read } = await ask(READ_AREA, body);
    return { ...read, shape: shapeOfBytes(bytes) };
  };
  return {
    placer,
    readArea,
    /** Reads the configuration file again. Throws `SettingsError`. */
    async readSettings(input: SettingsInput): Promise<ReadSettings> {
      const read = await ask(READ_SETTINGS, { ...input, environment: { ...input.environment } });
      if ('problems' in read) throw new SettingsError(read.problems);
      return read;
    },
    async close(): Promise<void> {
      await closing;
      await thread.close();
    },
  };
}
