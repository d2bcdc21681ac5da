import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ParameterStore, ParameterValues } from '../catalog/parameter-store.ts';
import { type Database, type Lead, leadAlone } from '../db/database.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { type TileSetKey, tileSetId, tileSetNames } from '../domain/tile-key.ts';
import type { Env } from '../lib/env.ts';
import { repeat } from '../lib/repeat.ts';
import type { PageStatistics, StoreRoom, SweepingStatistics, TileStore } from '../storage/tile-store.ts';
import type { Evicted } from './clean-up.ts';
import { enforceQuotas } from './enforce-quotas.ts';
import { EvictionQueues } from './eviction-queues.ts';
import { type EvictedHour, loadEvictions } from './evictions.ts';
import { Ledger } from './ledger.ts';
import type { LedgerBlock } from './ledger-block.ts';
import { faded, type PageName, type PageUse, PageUses } from './page-uses.ts';
import { createQuotaSettings, type QuotaConfiguration } from './quota-configuration.ts';
import { createQuotaCredit } from './quota-credit.ts';
import { type QuotaRoom, quotaRoom } from './quota-fit.ts';
import { Recounter } from './recounter.ts';
import { createSweepingGauge } from './sweeping-gauge.ts';
import { createUsageHistory, daysUntilFull } from './usage-history.ts';
import type { StoresUsage } from './usage-report.ts';
import { createUseRecords, openUseKeeper } from './use-keeper.ts';

interface QuotaServiceOptions extends Env {
  readonly database: Database;
  readonly stores: ReadonlyMap<string, TileStore>;
  /** Without it the parameters of ids are unknown. */
  readonly parameters?: ParameterStore;
  readonly events: TileEvents;
  /** Alone when left out. */
  readonly lead?: Lead;
  /** Called when a quota is reached; null: the one of all layers together. */
  readonly onFull?: (layer: string | null) => void;
}

export interface UsageReport extends StoresUsage {
  /** Dropped data that still takes space. */
  readonly sweeping: SweepingStatistics;
  readonly quota: QuotaConfiguration;
  /** Since the data folder was made. */
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

export type QuotaService = Awaited<ReturnType<typeof openQuotaService>>;

export async function openQuotaService(options: QuotaServiceOptions) {
  const { database, stores, parameters: parameterStore, events, lead = leadAlone, clock, log } = options;
  const { shared } = database;
  const settings = createQuotaSettings(database);
  const history = createUsageHistory(database);
  const ledger = new Ledger({ stores, clock });
  const uses = new PageUses();
  const keeper = await openUseKeeper({
    uses,
    ledger,
    records: createUseRecords(database),
    shared,
    clock,
    log,
  });
  const unsubscribe = events.subscribe((event) => {
    if (event.type === 'served') uses.count(event.set, event.tile, event.at, event.times);
  });
  const evictions = await loadEvictions(database);
  const credit = createQuotaCredit(database);
  const queues = new EvictionQueues(ledger, uses, log);
  const sweepingNow = createSweepingGauge(stores, clock);
  const parts = { settings, credit, evictions, stores, ledger, uses, queues, events, clock, log };
  const recounter = new Recounter({ stores, ledger, clock, log });
  const failure = 'the usage of the stores could not be read';
  const jobs = [
    lead((signal) => enforceQuotas({ ...parts, onFull: ({ layer }) => options.onFull?.(layer) }, signal)),
    lead((signal) => recounter.run(signal)),
    lead((signal) => repeat(recordHistory, { clock, log, pause: HISTORY_INTERVAL, failure }, signal)),
  ];

  async function recordHistory(): Promise<void> {
    await ledger.refresh();
    const { bytes, tiles, layers } = ledger.usage();
    await history.record({ at: clock.now(), bytes, tiles });
    const sets = layers.flatMap((layer) => layer.tileSets);
    await parameterStore?.keepOnly(new Set(sets.map(({ parametersId }) => parametersId ?? '')));
  }

  return {
    settings,
    /** Exact as of some moment after the call. */
    async usage(): Promise<UsageReport> {
      await ledger.refresh();
      const sum = ledger.usage();
      const sweeping = await sweepingNow();
      const growthPerDay = await history.growthPerDay({ ...sum, at: clock.now() });
      const parameters = (await parameterStore?.values()) ?? new Map();
      const quota = await settings.read();
      if (shared) await evictions.refresh();
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
      const configuration = await settings.read();
      if (configuration.enabled) await ledger.refresh();
      return quotaRoom(layer, configuration, ledger);
    },
    /** Evictions between two times, to within a few seconds. */
    evictedBetween: (from: number, to: number): Promise<Evicted> => evictions.between(from, to),
    /** Hours in which something was removed for quotas, layer by layer; of the last month. */
    evictedHours: (since: number): Promise<readonly EvictedHour[]> => evictions.hoursSince(since),
    /** The blocks of a tile set, at every zoom or at one; exact as `usage` is. */
    async *blocks(set: TileSetKey, zoom?: number): AsyncGenerator<LedgerBlock> {
      await ledger.refresh();
      yield* ledger.blocksOf(set, zoom);
    },
    /** Their pages as they are now. */
    async *pagesIn(
      blocks: Iterable<LedgerBlock> | AsyncIterable<LedgerBlock>,
    ): AsyncGenerator<PageStatistics> {
      for await (const [, pages] of ledger.pagesIn(blocks)) yield* pages;
    },
    /** When a layer's tiles were last seen to change, without reading it again; null: unknown. */
    changedAt: (layer: string): number | null => ledger.changedAt(layer),
    /** Null: no recorded use. */
    useOf: (page: PageName): PageUse | null => uses.get(page),
    /** Hits that fade with time, as of now. */
    frequencyOf(page: PageName): number {
      const use = uses.get(page);
      return use ? faded(use, clock.now()) : 0;
    },
    /** The used pages of a tile set, in whatever incarnation, with their frequency as of now; in turns. */
    async *usedPages(set: TileSetKey): AsyncGenerator<PageName & { readonly uses: number }> {
      const names = tileSetId(tileSetNames(set));
      const now = clock.now();
      for (const level of uses.levels()) {
        if (tileSetId(tileSetNames(level.set)) !== names) continue;
        for (const pages of uses.pagesOf(level)) {
          for (const page of pages) yield { ...page, uses: faded(page, now) };
          await nextTurn();
        }
      }
    },
    /** Since the data folder was made. */
    get evicted() {
      return evictions.total;
    },
    /** How often an eviction queue had lost its pages and was rebuilt, since the server started. Anything but 0 is a bug. */
    get queueRebuilds() {
      return queues.rebuilds;
    },
    /** By how much statistics were corrected since the server started. Anything but 0 is a bug. */
    get drift() {
      return recounter.drift;
    },
    async close(): Promise<void> {
      unsubscribe();
      await Promise.all(jobs.map((job) => job.close()));
      await keeper.close();
      await ledger.close();
    },
  };
}

async function disksOf(stores: ReadonlyMap<string, TileStore>): Promise<ReadonlyMap<string, StoreRoom>> {
  const rooms = new Map<string, StoreRoom>();
  for (const [name, store] of stores) {
    const room = await store.room?.();
    if (room) rooms.set(name, room);
  }
  return rooms;
}
