import { join } from 'node:path';
import { createAreas } from '../catalog/areas.ts';
import { type LayersBelow, openCatalog } from '../catalog/catalog.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { gridSetNames } from '../catalog/create-layer.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import { openParameterSets } from '../catalog/parameter-sets.ts';
import { openParameterStore } from '../catalog/parameter-store.ts';
import { readVersion } from '../config/environment.ts';
import { documentReaderOf } from '../config/load-document-reader.ts';
import type { SettingsFile } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../db/database.ts';
import type { LayerGroups } from '../domain/layer-group.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { type Count, Counters } from '../lib/counters.ts';
import type { Env } from '../lib/env.ts';
import type { Random } from '../lib/random.ts';
import type { FlightClaims } from '../pipeline/flights.ts';
import { LayerActivity } from '../pipeline/layer-activity.ts';
import { createLayerReader, decodePicture } from '../pipeline/layer-reader.ts';
import { openTilePipeline } from '../pipeline/open-tile-pipeline.ts';
import { createQuotaSettings } from '../quota/quota-configuration.ts';
import { QuotaGate, type QuotaGateOptions } from '../quota/quota-gate.ts';
import type { TileCutter } from '../raster/tile-cutter.ts';
import { withOldCaches } from '../sources/adopted/old-caches.ts';
import { type SourceSettings, sourceDriverOf } from '../sources/drivers.ts';
import { hostsNamedIn } from '../sources/upstream/address-guard.ts';
import type { openUpstreamLimiter } from '../sources/upstream/open-upstream-limiter.ts';
import { openUpstreamClient } from '../sources/upstream/upstream-client.ts';
import { rgbOf, withinArea } from '../sources/within/within-area.ts';
import type { Store } from '../storage/store.ts';
import type { StoreTools } from '../storage/store-driver.ts';
import { createHostRules, createPrivateAdvice } from './host-rules.ts';
import { openStores } from './open-stores.ts';

/** Injected by tests. */
export interface NodeEnv extends Env {
  readonly random: Random;
  /** Where the settings came from; without it they cannot be reloaded. */
  readonly file?: SettingsFile;
}

interface TileServiceParts extends NodeEnv, Pick<StoreTools, 'sweeps'>, Partial<Pick<StoreTools, 'outage'>> {
  readonly database: Database;
  readonly limiter: ReturnType<typeof openUpstreamLimiter>;
  readonly cutter: TileCutter;
  readonly atTheGate: Pick<QuotaGateOptions, 'maxWaitMs' | 'withReserve'>;
  /** Where other nodes make tiles too. */
  readonly claims?: FlightClaims;
}

type OpenedDeclaration = Pick<LayerDeclaration<SourceSettings>, 'source' | 'areas' | 'within' | 'background'>;

const DATABASE_FILE = 'tilewarden.db';

/** Everything that makes and stores tiles, in the server and in its workers. */
export async function openTileServices(settings: Settings, parts: TileServiceParts, open: ClosingStack) {
  const { database, limiter, clock, log } = parts;
  const opened = await openStores(settings, { ...parts, readOnly: false }, open);
  const quota = createQuotaSettings(database);
  const gate = new QuotaGate({ settings: quota, stores: opened, clock, log, ...parts.atTheGate });
  const stores = new Map([...opened].map(([name, store]) => [name, gate.guard(store)]));
  const privateAdvice = createPrivateAdvice(settings, parts.file);
  const hosts = createHostRules(settings, privateAdvice);
  const upstreams = open.use(
    openUpstreamClient({
      userAgent: `Tilewarden/${readVersion()}`,
      get upstreams() {
        return hosts.upstreams;
      },
      configuredHosts: hosts,
      proxies: settings.proxies,
      limiter,
      clock,
      log,
    }),
  );
  const areas = createAreas(settings.areas);
  const groups = new Map(settings.groups);
  // A source that draws from another layer needs the pipeline, which needs the catalog.
  const opener = (declaration: OpenedDeclaration, below: Pick<LayersBelow, 'get'>) => {
    const { source, within, background } = declaration;
    const shapeOf = (name: string) => {
      const area = declaration.areas.get(name);
      return area && (() => areas.shapeOf(area));
    };
    const opened = sourceDriverOf(source).open(source, {
      upstream: upstreams.ownedBy(hostsNamedIn(source)),
      readLayer: (name) => {
        const lower = below.get(name);
        return lower ? readLayer(lower) : null;
      },
      areas: { get: shapeOf },
      decode: decodePicture,
      clock,
      log,
    });
    const area = within === null ? null : shapeOf(within);
    return area
      ? withinArea(opened, area, background === null ? null : rgbOf(background), decodePicture)
      : opened;
  };
  const catalog = open.use(
    openCatalog({
      layers: settings.layers,
      gridSets: settings.gridSets,
      stores,
      openSource: (_, declaration, below) => {
        const { name, adopt, gridSets } = declaration;
        const owner = { layer: name, gridSet: gridSetNames({ gridSets })[0] ?? '' };
        return withOldCaches(opener(declaration, below), adopt, owner, clock);
      },
      clock,
      log,
    }),
  );
  const entries = createCatalogEntries(database, clock);
  const reader = documentReaderOf({ ...settings, areas: areas.byName, groups });
  const declared = new DeclaredEntries({ entries, catalog, reader, takeArea: areas.take, log });
  await declared.refresh();
  const making = openMaking(settings, opened, parts, open);
  const readLayer = createLayerReader(making.pipeline);
  // Closed before the pipeline, which waits for tiles being stored.
  open.use(gate);
  const openPreview = (declaration: OpenedDeclaration) =>
    opener(declaration, { get: (name) => catalog.layer(name) ?? undefined });
  return {
    ...making,
    database,
    limiter,
    catalog,
    areas,
    groups: groups as LayerGroups,
    documents: { entries, declared, reader, admit: hosts.admit },
    /** Applies a reloaded file; returns the names of changed layers. */
    applySettings(next: Settings): readonly string[] {
      hosts.applySettings(next);
      areas.declare(next.areas);
      groups.clear();
      for (const [name, group] of next.groups) groups.set(name, group);
      return declared.applyConfigFile(next.layers, next.gridSets.gridSets);
    },
    outside: { upstreams, openSource: openPreview, privateAdvice },
  };
}

function openMaking(
  { memoryTierBytes, maxParameterSets }: Settings,
  stores: ReadonlyMap<string, Store>,
  { database, cutter, claims, clock, random, log }: TileServiceParts,
  open: ClosingStack,
) {
  const events = createTileEvents();
  const parameters = open.use(openParameterStore({ database, events, clock, log }));
  const parameterSets = open.use(openParameterSets({ database, events, clock, most: maxParameterSets }));
  const counters = new Counters(() => takeStoreRequests(stores));
  const activity = new LayerActivity(events, clock);
  const pipeline = open.use(
    openTilePipeline({
      cutter,
      events,
      clock,
      random,
      log,
      counters,
      onFailure: (layer, error) => activity.failed(layer, error),
      parameterSets,
      settings: { memoryTierBytes },
      claims,
    }),
  );
  return {
    events,
    parameters,
    parameterSets,
    pipeline,
    /** Counters that are summed over the processes of a node. */
    tallies: { counters, activity },
  };
}

function* takeStoreRequests(stores: ReadonlyMap<string, Store>): Generator<Count> {
  for (const [store, { takeRequests }] of stores) {
    for (const count of takeRequests?.() ?? []) yield { ...count, labels: { store, ...count.labels } };
  }
}

export function databaseOf({ database, data }: Settings): string {
  return database ?? join(data, DATABASE_FILE);
}

export type TileServices = Awaited<ReturnType<typeof openTileServices>>;
