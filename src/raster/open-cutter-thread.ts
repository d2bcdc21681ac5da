import { errorCopier } from '../domain/error-copier.ts';
import type { Logger } from '../lib/logger.ts';
import { openThread } from '../lib/open-thread.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { CUT, unpackMetatile } from './thread-messages.ts';
import type { CutJob, TileCutter } from './tile-cutter.ts';

/** Cuts on a thread of its own, for processes whose event loop answers people. It starts with the first metatile. */
export function openCutterThread(log: Logger): TileCutter {
  const thread = openThread({
    start: () => spawnThread(import.meta.url, 'cutter-thread'),
    errors: errorCopier,
    log,
    died: 'the thread that cuts tiles died; the next metatile starts another',
  });
  return {
    cut: async (job) => unpackMetatile(await thread.ask(CUT, requestOf(job))),
    close: () => thread.close(),
  };
}

function requestOf(job: CutJob) {
  const { picture } = job;
  if (picture.kind !== 'pixels') return { job, bytes: null };
  return { job: { ...job, picture: { ...picture, pixels: Buffer.alloc(0) } }, bytes: picture.pixels };
}
