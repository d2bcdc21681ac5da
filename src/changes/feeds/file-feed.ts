/**
 * A file that layers are drawn from: a project, an archive, a style. When its content changes, the layers change. The
 * digest of the content that was applied last is recorded; a file that is seen for the first time changes nothing.
 */
import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { errorCode } from '../../lib/error-code.ts';
import type { FeedSettingsOf } from '../change-options.ts';
import type { PolledFeed, PolledFeedTools } from './polled-feed.ts';

/** Milliseconds for which the file must not change: a program may be writing it. */
const QUIET = 2000;
const POLL_INTERVAL = 1000;
/** Milliseconds; records are forgotten after a month without confirmation. */
const DAY = 86_400_000;

export function createFileFeed(
  { path, name }: FeedSettingsOf<'file'>,
  { intake, store, clock }: PolledFeedTools,
): PolledFeed {
  /** The stamp of the file, and since when it has this stamp. */
  let sighting: { readonly stamp: string; readonly since: number } | null = null;
  /** The stamp whose content is recorded, and when that was confirmed. */
  let known: { readonly stamp: string; readonly at: number } | null = null;

  async function take(stamp: string, signal: AbortSignal): Promise<void> {
    const digest = await digestOf(path, signal);
    // A writer came back while it was read.
    if (stampOf(await readStats(path)) !== stamp) return;
    const former = await store.newestEntry(name);
    if (digest === former) await store.entriesSeen(name, [digest]);
    else {
      const changes = former === null ? [] : [{ layers: null, place: null }];
      await intake.accept({ changes, entries: [{ id: digest, at: clock.now() }] });
    }
    known = { stamp, at: clock.monotonic() };
  }

  return {
    async poll(signal) {
      const stamp = stampOf(await readStats(path));
      const now = clock.monotonic();
      if (sighting?.stamp !== stamp) sighting = { stamp, since: now };
      if (known?.stamp === stamp && now - known.at < DAY) return;
      if (now - sighting.since >= QUIET) await take(stamp, signal);
    },
    rest: (signal) => clock.sleep(POLL_INTERVAL, signal),
  };
}

/** Throws in plain words, with the file as `shown`. */
export async function readStats(path: string, shown = basename(path)): Promise<Stats> {
  const stats = await stat(path).catch((error: unknown) => {
    const why =
      errorCode(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${errorCode(error)})`;
    throw new Error(`${shown}: ${why}`);
  });
  if (stats.isFile()) return stats;
  throw new Error(`${shown}: it is not a file`);
}

function stampOf({ size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
