import { errorCopier } from '../domain/error-copier.ts';
import type { Logger } from '../lib/logger.ts';
import { openThread } from '../lib/open-thread.ts';
import { spawnThread } from '../lib/spawn-thread.ts';
import { CUT, unpackMetatile } from './thread-messages.ts';
import type { TileCutter } from './tile-cutter.ts';

/** Cuts on a separate thread, for processes whose event loop serves clients. It starts with the first metatile. */
export function openCutterThread(log: Logger): TileCutter {
  const thread = openThread({
    start: () => spawnThread(import.meta.url, 'cutter-thread'),
    errors: errorCopier,
    log,
    died: 'the thread that cuts tiles died; the next metatile starts another',
  });
  return {
    cut: async (job) => {
      const bytes = job.picture.kind === 'pixels' ? job.picture.pixels : null;
      return unpackMetatile(await thread.ask(CUT, { job, bytes }));
    },
    close: () => thread.close(),
  };
}
