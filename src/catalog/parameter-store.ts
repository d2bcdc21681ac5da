import type { Database } from '../db/database.ts';
import { parametersIdOf } from '../domain/parameter-filter.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { Env } from '../lib/env.ts';

export type ParameterValues = ReadonlyMap<string, string>;

interface ParameterStoreOptions extends Env {
  readonly database: Database;
  readonly events: TileEvents;
}

/** Milliseconds after which an id is written down again, so that it is seen to be in use. */
const NOTED_FOR = 30 * 60_000;
/** Milliseconds for which an id without known tiles is kept. */
const GRACE = 2 * NOTED_FOR;
/** Ids remembered as noted; beyond it some are written down once more. */
const MAX_REMEMBERED = 10_000;

/** Maps the parameters ids of cached tiles to their values: an id is a hash. */
export type ParameterStore = ReturnType<typeof openParameterStore>;

/** Listens for stored tiles; each process that stores tiles has its own instance over the same table. */
export function openParameterStore({ database, events, clock, log }: ParameterStoreOptions) {
  const lastNoted = new Map<string, number>();
  let waiting = new Map<string, ParameterValues>();
  let writing: Promise<void> | null = null;

  const unsubscribe = events.subscribe((event) => {
    if (event.type !== 'stored' || event.set.parametersId === null) return;
    const id = event.set.parametersId;
    const now = clock.monotonic();
    if (now - (lastNoted.get(id) ?? Number.NEGATIVE_INFINITY) < NOTED_FOR) return;
    if (lastNoted.size >= MAX_REMEMBERED) lastNoted.clear();
    lastNoted.set(id, now);
    waiting.set(id, event.parameters);
    writing ??= writeAll().finally(() => {
      writing = null;
    });
  });

  async function writeAll(): Promise<void> {
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      await write(database, batch, clock.now()).catch((error: unknown) => {
        for (const id of batch.keys()) lastNoted.delete(id);
        log.warn({ err: error }, 'parameter values could not be recorded; the next tile with them retries');
      });
    }
  }

  return {
    async values(): Promise<ReadonlyMap<string, ParameterValues>> {
      await writing;
      const rows = await database.query.selectFrom('parameter_values').select(['id', 'document']).execute();
      return new Map(rows.map(({ id, document }) => [id, new Map(Object.entries(JSON.parse(document)))]));
    },
    /** Removes ids that no cached tile has, unless they were noted recently. */
    async keepOnly(present: ReadonlySet<string>): Promise<void> {
      const before = clock.now() - GRACE;
      const old = database.query.selectFrom('parameter_values').select('id').where('noted_at', '<', before);
      for (const { id } of await old.execute()) {
        if (present.has(id)) continue;
        const removal = database.change.deleteFrom('parameter_values').where('id', '=', id);
        await removal.where('noted_at', '<', before).execute();
      }
    },
    async close(): Promise<void> {
      unsubscribe();
      await writing;
    },
  };
}

async function write(
  database: Database,
  batch: ReadonlyMap<string, ParameterValues>,
  notedAt: number,
): Promise<void> {
  await database.transaction('parameter-values', async (query) => {
    for (const [id, values] of batch) {
      if (parametersIdOf(values) !== id) continue;
      const document = JSON.stringify(Object.fromEntries(values));
      await query
        .insertInto('parameter_values')
        .values({ id, document, noted_at: notedAt })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ noted_at: notedAt }))
        .execute();
    }
  });
}
