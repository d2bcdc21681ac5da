/**
 * A table of changes in a PostgreSQL database. Rows are read, applied together and then deleted; NOTIFY only wakes the
 * feed. No position is kept: a row that becomes visible late has a low id and is found all the same.
 */
import type { SessionClient } from '../../db/postgres/session-client.ts';
import { hasCode } from '../../lib/error-code.ts';
import { collectYielding } from '../../lib/yielding.ts';
import type { Change, FeedSettingsOf } from '../change-options.ts';
import { DEGREES, faultOfBounds, placeOfBounds } from '../check-place.ts';
import type { PolledFeed, PolledFeedTools } from './polled-feed.ts';
import { parseTableName, quoteName } from './table-name.ts';

interface ChangeRow {
  readonly id: string;
  readonly layer: string | null;
  readonly minx: number | null;
  readonly miny: number | null;
  readonly maxx: number | null;
  readonly maxy: number | null;
  readonly srid: number | null;
}

const MAX_ROWS = 5000;
/** Beyond it the number of rows that wait is not counted. */
const MAX_COUNTED = 1_000_000;
/** Milliseconds between polls without a notification. */
const POLL_INTERVAL_MS = 5000;
/** Milliseconds at least, from the start of a poll to the next one: a burst is merged. */
const MERGE_MS = 400;

export function createPostgresFeed(
  feed: FeedSettingsOf<'postgres'>,
  { intake, clock }: PolledFeedTools,
): PolledFeed {
  const table = parseTableName(feed.table)?.quoted ?? '';
  const columns = 'id::text, layer, minx, miny, maxx, maxy, srid';
  let session: SessionClient | null = null;
  let notified = new AbortController();
  let begunAt = 0;
  /** Applied rows that could not be deleted. */
  let undeleted: readonly string[] = [];

  async function connected(): Promise<SessionClient> {
    if (session && !session.lost.aborted) return session;
    const { connectSession } = await import('../../db/postgres/session-client.ts');
    const opened = await connectSession(feed.url);
    opened.client.on('notification', () => notified.abort());
    session = opened;
    // A lost session wakes the feed, unless it was left after a failed poll: that is retried after a pause.
    opened.lost.addEventListener('abort', () => session === opened && notified.abort(), { once: true });
    await opened.client.query(`listen ${quoteName(feed.table)}`);
    return opened;
  }

  async function takeRows({ client }: SessionClient): Promise<number> {
    await deleteRows(client);
    const { rows } = await client.query<ChangeRow>(
      `select ${columns} from ${table} order by id limit ${MAX_ROWS}`,
    );
    const read = await collectYielding(readRows(rows, feed.layers));
    const faults = read.filter((one) => typeof one === 'string');
    const changes = read.filter((one) => typeof one !== 'string');
    if (rows.length > 0) await intake.accept({ changes, received: rows.length });
    undeleted = rows.map(({ id }) => id);
    await deleteRows(client);
    if (faults.length > 0) await intake.works(faults.at(-1));
    return rows.length;
  }

  async function deleteRows(client: SessionClient['client']): Promise<void> {
    if (undeleted.length === 0) return;
    await client.query(`delete from ${table} where id = any($1::bigint[])`, [undeleted]);
    undeleted = [];
  }

  async function countWaiting({ client }: SessionClient): Promise<void> {
    const counted = await client.query<{ count: number }>(
      `select count(*)::int as count from (select from ${table} limit ${MAX_COUNTED}) as waiting`,
    );
    await intake.waiting(counted.rows[0]?.count ?? 0);
  }

  return {
    async poll(signal) {
      begunAt = clock.monotonic();
      notified = new AbortController();
      const current = await connected();
      try {
        for (let more = true; more && !signal.aborted; ) {
          await countWaiting(current);
          more = (await takeRows(current)) === MAX_ROWS;
        }
        await countWaiting(current);
      } catch (error) {
        throw explained(error, feed.table);
      }
    },
    async rest(signal) {
      await clock.sleep(Math.max(0, begunAt + MERGE_MS - clock.monotonic()), signal);
      await clock.sleep(POLL_INTERVAL_MS, AbortSignal.any([signal, notified.signal]));
    },
    async leave() {
      const left = session;
      session = null;
      if (!left) return;
      const { endSession } = await import('../../db/postgres/session-client.ts');
      await endSession(left);
    },
  };
}

/** With advice, by PostgreSQL's codes. */
function explained(error: unknown, table: string): unknown {
  if (hasCode(error, '42P01'))
    return new Error(`There is no table ${table}: run the statements that tilewarden changes-sql prints.`);
  if (hasCode(error, '42501')) return new Error(`The account needs select and delete on ${table}.`);
  return error;
}

function* readRows(rows: readonly ChangeRow[], offered: readonly string[]): Generator<Change | string> {
  for (const row of rows) yield readRow(row, offered);
}

/** Returns a text if the row cannot be used: the reason. */
function readRow(row: ChangeRow, offered: readonly string[]): Change | string {
  const { id, layer, minx, miny, maxx, maxy, srid } = row;
  if (layer !== null && !offered.includes(layer)) {
    return `row ${id}: layer ${JSON.stringify(layer)} is not one of ${offered.join(', ')}`;
  }
  const layers = layer === null ? null : [layer];
  const sides = [minx, miny, maxx, maxy];
  if (sides.every((side) => side === null)) return { layers, place: null };
  if (minx === null || miny === null || maxx === null || maxy === null) {
    return `row ${id}: bounds are partly null`;
  }
  const bounds = { minX: minx, minY: miny, maxX: maxx, maxY: maxy };
  const srs = srid ?? DEGREES;
  const fault = faultOfBounds(bounds, srs);
  return fault === null ? { layers, place: placeOfBounds(bounds, srs) } : `row ${id}: bounds ${fault}`;
}
