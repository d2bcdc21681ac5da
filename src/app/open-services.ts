import { createAreas } from '../catalog/areas.ts';
import { openCatalog } from '../catalog/catalog.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { gridSetNames } from '../catalog/create-layer.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import { openParameterSets } from '../catalog/parameter-sets.ts';
import { openParameterStore } from '../catalog/parameter-store.ts';
import type { ServerFigures } from '../cluster/figures.ts';
import { createFlightClaims } from '../cluster/flight-claims.ts';
import { createHostOutageStore } from '../cluster/host-outage-store.ts';
import { createHostPauses } from '../cluster/host-pauses.ts';
import { createHostShares } from '../cluster/host-shares.ts';
import { readVersion } from '../config/environment.ts';
import { createPrivateAdvice, databaseOf, documentReaderOf } from '../config/node-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { Database } from '../db/database.ts';
import { createDatabaseLedger } from '../db/database-ledger.ts';
import { openDatabase } from '../db/open-database.ts';
import type { LayerGroups } from '../domain/layer.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import { withoutRequests } from '../domain/upstream-status.ts';
import { Counters } from '../lib/counters.ts';
import { LayerActivity } from '../pipeline/layer-activity.ts';
import {
  createLayerReader,
  createSourceOpener,
  type OpenedDeclaration,
} from '../pipeline/open-layer-source.ts';
import { openTilePipeline } from '../pipeline/open-tile-pipeline.ts';
import { createQuotaSettings } from '../quota/quota-configuration.ts';
import { QuotaGuard } from '../quota/quota-guard.ts';
import { MetatileCutter } from '../raster/metatile-cutter.ts';
import { openCutterThread } from '../raster/open-cutter-thread.ts';
import { withOldCaches } from '../sources/adopted/old-caches.ts';
import { createHostRules } from '../sources/upstream/address-guard.ts';
import { openUpstreamLimiter } from '../sources/upstream/open-upstream-limiter.ts';
import { openUpstreamClient } from '../sources/upstream/upstream-client.ts';
import { openBuckets } from '../storage/drivers.ts';
import { openStores, takeStoreRequests } from '../storage/open-stores.ts';
import type { Store } from '../storage/store.ts';
import type { Membership } from './membership.ts';
import { openAreaThread } from './open-area-thread.ts';
import type { ProcessParts } from './open-process.ts';

/** How a write waits at a quota. Clients do not wait for it, but their tiles stay in memory until then. */
const QUOTA_WAIT = {
  serve: { maxWaitMs: 500, withReserve: true },
  work: { maxWaitMs: 60_000, withReserve: false },
};
/** Channel: a host was paused or resumed. */
const PAUSES = 'pauses';

type Role = keyof typeof QUOTA_WAIT;

export type Services = Awaited<ReturnType<typeof openServices>>;

/** All that makes and stores tiles, and the limits shared with other processes and nodes. Role `work`: a worker. */
export async function openServices(
  parts: ProcessParts,
  { leads, peers }: Pick<Membership, 'leads' | 'peers'>,
  role: Role,
) {
  const { settings, database, feed, several, instance, clock, log, open } = parts;
  const divided = peers || feed ? await openDivided(parts, role) : null;
  const { limiter, upstreams: hostControl } = await openLimiter(parts, divided);
  const outage = peers ? { outage: peers } : {};
  const opened = await openStores(settings, { ...parts, ...outage, sweeps: leads, readOnly: false }, open);
  const quotaSettings = createQuotaSettings(database);
  const quotaGuard = new QuotaGuard({
    settings: quotaSettings,
    stores: opened,
    clock,
    log,
    ...QUOTA_WAIT[role],
  });
  const stores = new Map([...opened].map(([name, store]) => [name, quotaGuard.guard(store)]));
  const privateAdvice = createPrivateAdvice(settings, parts.file);
  const hosts = createHostRules(settings, privateAdvice);
  /** `configuredHosts`: only these may be in a private network. */
  const openClient = (configuredHosts: Pick<ReadonlySet<string>, 'has'>) =>
    open.use(
      openUpstreamClient({
        userAgent: `Tilewarden/${readVersion()}`,
        get upstreams() {
          return hosts.upstreams;
        },
        configuredHosts,
        proxies: settings.proxies,
        limiter,
        clock,
        log,
      }),
    );
  const upstreams = openClient(hosts);
  const areaThread = open.use(openAreaThread(log));
  const entries = createCatalogEntries(database, clock);
  const areas = createAreas(settings.areas, entries, areaThread.placer);
  const groups = new Map(settings.groups);
  const openSource = createSourceOpener({
    upstreams,
    areas,
    clock,
    log,
    readLayer: (lower) => readLayer(lower),
  });
  const buckets = open.use(openBuckets(settings.adoptBuckets, { clock, log }));
  const catalog = open.use(
    openCatalog({
      layers: settings.layers,
      gridSets: settings.gridSets,
      stores,
      openSource: (_, declaration, below) => {
        const { name, adopt, gridSets } = declaration;
        const owner = { layer: name, gridSet: gridSetNames({ gridSets })[0] ?? '' };
        return withOldCaches(openSource(declaration, below), adopt, owner, {
          clock,
          readObject: buckets.read,
        });
      },
      clock,
      log,
    }),
  );
  const reader = documentReaderOf({ ...settings, areas: areas.byName, groups });
  const declared = new DeclaredEntries({ entries, catalog, reader, takeArea: areas.take, log });
  await declared.refresh();
  const claims = divided && (peers || several) ? createFlightClaims(divided, instance, parts) : undefined;
  const making = openMaking(parts, role, opened, claims);
  const readLayer = createLayerReader(making.pipeline);
  // Closed before the pipeline, which waits for tiles being stored.
  open.use(quotaGuard);
  return {
    ...making,
    divided,
    limiter,
    upstreams,
    openClient,
    hostControl,
    privateAdvice,
    catalog,
    readAreas: areas,
    areaThread,
    areas: areas.byName,
    groups: groups as LayerGroups,
    entries,
    declared,
    reader,
    admit: hosts.admit,
    openPreview: (declaration: OpenedDeclaration) =>
      openSource(declaration, { get: (name) => catalog.layer(name) ?? undefined }),
    /** Applies a reloaded file; returns the names of changed layers. */
    applySettings(next: Settings): readonly string[] {
      limiter.setUpstreams(next.upstreams);
      hosts.applySettings(next);
      areas.declare(next.areas);
      groups.clear();
      for (const [name, group] of next.groups) groups.set(name, group);
      return declared.applyConfigFile(next.layers, next.gridSets.gridSets);
    },
  };
}

/** Counts of the server's processes: figures are shown as sums over all of them. */
export function shareCounts({ share }: ServerFigures, { counters, activity, limiter }: Services) {
  return {
    counters: share('counters', () => counters.all()),
    activity: share('activity', () => activity.all()),
    upstreams: share('upstreams', limiter.report, (hosts) => hosts.map(withoutRequests)),
  };
}

/** For host shares and flight claims: needed only while processes run, so in SQLite they do not wait for the disk. */
async function openDivided(
  { settings, database, feed, clock, log, open }: ProcessParts,
  role: Role,
): Promise<Database> {
  if (database.dialect === 'postgres' || role === 'work') return database;
  const location = databaseOf(settings);
  return open.use(await openDatabase({ location, feed, synced: false, migrations: null, clock, log }));
}

/** Pauses are durable, and obeyed by this node, when their promise resolves; other nodes follow within a second. */
async function openLimiter(parts: ProcessParts, divided: Database | null) {
  const { settings, database, feed, instance, open } = parts;
  const pauses = createHostPauses(database);
  const shared = divided && {
    shares: createHostShares(divided, instance),
    outages: createHostOutageStore(divided, instance),
  };
  const { upstreams } = settings;
  const budgets = createDatabaseLedger(database);
  const limiter = open.use(openUpstreamLimiter({ ...parts, upstreams, budgets, pauses, ...shared }));
  // Before the first request could be sent.
  await limiter.readPauses();
  feed?.on(PAUSES, limiter.readPauses);
  const obeyed = async (change: Promise<void>): Promise<void> => {
    await change;
    await limiter.readPauses();
    await feed?.ask(PAUSES);
  };
  return {
    limiter,
    upstreams: {
      status: limiter.status,
      tryNow: limiter.tryNow,
      pause: (host: string, by: string) => obeyed(pauses.pause(host, by)),
      resume: (host: string) => obeyed(pauses.resume(host)),
    },
  };
}

function openMaking(
  { settings, database, clock, random, log, open }: ProcessParts,
  role: Role,
  stores: ReadonlyMap<string, Store>,
  claims: ReturnType<typeof createFlightClaims> | undefined,
) {
  const { memoryTierBytes, maxParameterSets } = settings;
  const events = createTileEvents();
  const cutter = role === 'work' ? new MetatileCutter() : open.use(openCutterThread(log));
  const parameters = open.use(openParameterStore({ database, events, clock, log }));
  const parameterSets = open.use(openParameterSets({ database, events, clock, most: maxParameterSets }));
  const counters = new Counters(() => takeStoreRequests(stores));
  const activity = new LayerActivity(events, clock);
  const pipeline = open.use(
    openTilePipeline({
      ...{ cutter, events, clock, random, log, counters, parameterSets, claims },
      onFailure: (layer, error) => activity.failed(layer, error),
      settings: { memoryTierBytes },
    }),
  );
  return { events, parameters, parameterSets, pipeline, counters, activity };
}
