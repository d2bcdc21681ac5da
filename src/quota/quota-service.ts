import type { ParameterStore, ParameterValues } from '../catalog/parameter-store.ts';
import { type Database, type Lead, leadAlone } from '../db/database.ts';
import { frequencyAt, NEVER_REQUESTED } from '../domain/page-rank.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { type TileIndex, type TileSetKey, tileSetId, tileSetNames } from '../domain/tile-key.ts';
import { rectOfTile } from '../domain/tile-rect.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater, repeat } from '../lib/repeat.ts';
import { pagesIn, tileSetsIn } from '../storage/read-tiles.ts';
import type { Store, StoreRoom, SweepingStatistics, UsedPage } from '../storage/store.ts';
import type { Evicted } from './clean-up.ts';
import { enforceQuotas } from './enforce-quotas.ts';
import { type EvictedHour, loadEvictions } from './evictions.ts';
import { PageUses, saveUses } from './page-uses.ts';
import { createQuotaSettings, type QuotaConfiguration } from './quota-configuration.ts';
import { type QuotaRoom, quotaRoom } from './quota-scopes.ts';
import { createUsageHistory, daysUntilFull } from './usage-history.ts';
import { LayerChanges, readUsage, readUsedBytes, type StoresUsage, usageByLayer } from './usage-report.ts';

interface QuotaServiceOptions extends Env {
  readonly database: Database;
  readonly stores: ReadonlyMap<string, Pick<Store, 'usage' | 'edit' | 'room'>>;
  /** Maps parameters ids to values; without it they are unknown. */
  readonly parameters?: ParameterStore;
  readonly events: TileEvents;
  /** By default this node always leads. */
  readonly lead?: Lead;
  /** Called when a quota is reached; null: the one of all layers together. */
  readonly onFull?: (layer: string | null) => void;
}

export interface UsageReport extends StoresUsage {
  /** Dropped data that still takes space. */
  readonly sweeping: SweepingStatistics;
  readonly quota: QuotaConfiguration;
  /** Since the database was created. */
  readonly evicted: Evicted;
  readonly evictedByLayer: ReadonlyMap<string, Evicted>;
  /** By the name of the store, for stores whose disk is known. */
  readonly disks: ReadonlyMap<string, StoreRoom>;
  /** Bytes; null while unknown. */
  readonly growthPerDay: number | null;
  /** Until the quota is used up or a disk is nearly full; null while unknown. */
  readonly fullInDays: number | null;
  /** The values behind the parameters ids, as far as known. */
  readonly parameters: ReadonlyMap<string, ParameterValues>;
}

/** Milliseconds. */
const HISTORY_INTERVAL = 3_600_000;
/** Milliseconds between saves of uses: a crash loses later ones, and eviction does not see those of other processes. */
const SAVE_INTERVAL = 5000;

export type QuotaService = Awaited<ReturnType<typeof openQuotaService>>;

export async function openQuotaService(options: QuotaServiceOptions) {
  const { database, stores, parameters: parameterStore, events, lead = leadAlone, clock, log } = options;
  const settings = createQuotaSettings(database);
  const history = createUsageHistory(database);
  const evictions = await loadEvictions(database);
  const changes = new LayerChanges();
  const uses = new PageUses();
  const unsubscribe = events.subscribe((event) => {
    if (event.type === 'served') uses.count(event.set, event.tile, event.at, event.times);
  });
  let saved: Promise<void> = Promise.resolve();
  /** A second call also waits for the uses that the first one has taken. */
  const save = () => {
    saved = saved.catch(() => undefined).then(() => saveUses(uses, stores));
    return saved;
  };
  const saving = openRepeater(save, {
    clock,
    log,
    pause: SAVE_INTERVAL,
    pauseFirst: true,
    failure: 'the uses of tiles could not be recorded',
  });
  const enforcing = { settings, evictions, saveUses: save, stores, events, clock, log };
  const failure = 'the usage of the stores could not be read';
  const jobs = [
    lead((signal) => enforceQuotas({ ...enforcing, onFull: ({ layer }) => options.onFull?.(layer) }, signal)),
    lead((signal) => repeat(recordHistory, { clock, log, pause: HISTORY_INTERVAL, failure }, signal)),
  ];

  async function read() {
    const { levels, sweeping } = await readUsage(stores);
    changes.note(levels, clock.now());
    return { sum: usageByLayer(levels), sweeping };
  }

  async function recordHistory(): Promise<void> {
    const { bytes, tiles, layers } = (await read()).sum;
    await history.record({ at: clock.now(), bytes, tiles });
    const sets = layers.flatMap((layer) => layer.tileSets);
    await parameterStore?.keepOnly(new Set(sets.map(({ parametersId }) => parametersId ?? '')));
  }

  return {
    settings,
    /** Exact as of some moment after the call. */
    async usage(): Promise<UsageReport> {
      const { sum, sweeping } = await read();
      const growthPerDay = await history.growthPerDay({ ...sum, at: clock.now() });
      const parameters = (await parameterStore?.values()) ?? new Map();
      const quota = await settings.read();
      await evictions.refresh();
      const { total: evicted, byLayer: evictedByLayer } = evictions;
      const disks = await disksOf(stores);
      const fullInDays = daysUntilFull({ ...sum, growthPerDay, quota, disks: disks.values() });
      return {
        ...sum,
        sweeping,
        quota,
        evicted,
        evictedByLayer,
        disks,
        growthPerDay,
        fullInDays,
        parameters,
      };
    },
    /** Null when quotas are not enforced. */
    async roomFor(layer: string): Promise<QuotaRoom | null> {
      return quotaRoom(layer, await settings.read(), await readUsedBytes(stores));
    },
    /** Evictions between two times, to within a few seconds. */
    evictedBetween: (from: number, to: number): Promise<Evicted> => evictions.between(from, to),
    /** Hours in which something was removed for quotas, layer by layer; of the last month. */
    evictedHours: (since: number): Promise<readonly EvictedHour[]> => evictions.hoursSince(since),
    /** The same of all layers together, in slices of a few seconds. */
    evictedSlices: (since: number): Promise<readonly EvictedHour[]> => evictions.slicesSince(since),
    /** When a layer's tiles were last seen to change, without reading it again; null: unknown. */
    changedAt: (layer: string): number | null => changes.of(layer),
    /** The uses of the page with this tile; null: none is known. */
    async useOf(set: TileSetKey, tile: TileIndex): Promise<UsedPage | null> {
      await save();
      for (const store of stores.values())
        for await (const page of pagesIn(store, { set, z: tile.z, rect: rectOfTile(tile) }))
          if (page.rank !== NEVER_REQUESTED) return page;
      return null;
    },
    /** The used pages of a tile set in all incarnations, with their current frequency. Yields to the event loop. */
    async *usedPages(set: TileSetKey) {
      await save();
      const now = clock.now();
      for (const store of stores.values())
        for (const one of await setsNamed(store, set))
          for await (const { z, pageX, pageY, rank } of pagesIn(store, { set: one }))
            if (rank !== NEVER_REQUESTED) yield { z, pageX, pageY, uses: frequencyAt(rank, now) };
    },
    async close(): Promise<void> {
      unsubscribe();
      await Promise.all(jobs.map((job) => job.close()));
      await saving.close();
      await save().catch((error: unknown) => log.warn({ err: error }, 'the last uses of tiles are lost'));
    },
  };
}

/** Tile sets that differ in nothing but their incarnation. */
async function setsNamed(store: Pick<Store, 'usage'>, set: TileSetKey): Promise<readonly TileSetKey[]> {
  const names = tileSetId(tileSetNames(set));
  const sets = await tileSetsIn(store, set.layer);
  return sets.filter((one) => tileSetId(tileSetNames(one)) === names);
}

async function disksOf(
  stores: ReadonlyMap<string, Pick<Store, 'room'>>,
): Promise<ReadonlyMap<string, StoreRoom>> {
  const rooms = new Map<string, StoreRoom>();
  for (const [name, store] of stores) {
    const room = await store.room?.();
    if (room) rooms.set(name, room);
  }
  return rooms;
}
