import { join } from 'node:path';
import { createBlankAreas } from '../catalog/blank-areas.ts';
import { type BoundLayer, openCatalog } from '../catalog/catalog.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import { layerBelow } from '../catalog/incarnations.ts';
import { openParameterBook } from '../catalog/parameter-book.ts';
import { openParameterSets } from '../catalog/parameter-sets.ts';
import type { SourceSettings } from '../config/driver-schemas.ts';
import { readVersion } from '../config/environment.ts';
import { documentReaderOf } from '../config/load-document-reader.ts';
import type { SettingsFile } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import type { Database, DatabaseOptions } from '../db/database.ts';
import { openDatabase } from '../db/open-database.ts';
import type { MetatileSize } from '../domain/metatile.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { type Count, Counters } from '../lib/counters.ts';
import type { Random } from '../lib/random.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { BlankSuspects } from '../pipeline/blank-watch.ts';
import type { FlightClaims } from '../pipeline/flights.ts';
import { LayerActivity } from '../pipeline/layer-activity.ts';
import { createLayerReader } from '../pipeline/layer-reader.ts';
import { openTilePipeline } from '../pipeline/open-tile-pipeline.ts';
import { metatileSizeFor, SINGLE_TILE } from '../pipeline/resolve-tile-set.ts';
import { createQuotaCredit } from '../quota/quota-credit.ts';
import { QuotaGate, type QuotaGateOptions } from '../quota/quota-gate.ts';
import type { TileCutter } from '../raster/tile-cutter.ts';
import { openArchiveSource } from '../sources/archive/archive-source.ts';
import { openLayerSource } from '../sources/layer/layer-source.ts';
import type { LayerReader, ReadableLayer, TileSource } from '../sources/tile-source.ts';
import { hostsNamedIn, refusePrivate } from '../sources/upstream/address-guard.ts';
import { openUpstreamClient, type UpstreamClient } from '../sources/upstream/upstream-client.ts';
import type { UpstreamDesk } from '../sources/upstream/upstream-desk.ts';
import { upstreamOptionsFor } from '../sources/upstream/upstream-options-for.ts';
import { openWmsSource } from '../sources/wms/wms-source.ts';
import { openWmtsSource } from '../sources/wmts/wmts-source.ts';
import { openWorldSource } from '../sources/world/world-source.ts';
import { openXyzSource } from '../sources/xyz/xyz-source.ts';
import type { Outage, TileStore } from '../storage/tile-store.ts';
import { openOldCache } from './open-old-cache.ts';
import { openStores } from './open-stores.ts';
import { configPathOf, createPrivateAdvice } from './private-advice.ts';

/** What a test must be able to hold. */
export interface RoadSurroundings extends Surroundings {
  readonly random: Random;
  /** Where the settings came from; without it they stay what they are. */
  readonly file?: SettingsFile;
  /** See `StoreTools`. */
  readonly sweeps?: () => boolean;
  readonly outage?: Outage;
  /** Where other nodes make tiles too. */
  readonly claims?: (database: Database) => FlightClaims;
}

const DATABASE_FILE = 'tilewarden.db';

/** What it takes to make and keep tiles, in the server and in its workers. */
export async function openRoad<Desk extends UpstreamDesk>(
  settings: Settings,
  surroundings: RoadSurroundings,
  open: ClosingStack,
  atTheGate: Pick<QuotaGateOptions, 'patience' | 'withReserve'>,
  cutter: TileCutter,
  openDesk: (database: Database) => Desk,
  databaseOptions: Pick<DatabaseOptions, 'synced' | 'migrations'> = {},
) {
  const { log, clock, random } = surroundings;
  const location = databaseOf(settings);
  const database = open.use(await openDatabase({ location, clock, log, ...databaseOptions }));
  const gate = new QuotaGate({ credit: createQuotaCredit(database), clock, log, ...atTheGate });
  // How tiles are made the catalog knows, which needs the stores.
  let shapeOf: (set: TileSetKey) => MetatileSize = () => SINGLE_TILE;
  const opened = await openStores(
    settings,
    { ...surroundings, database, readOnly: false, shapeOf: (set) => shapeOf(set) },
    open,
  );
  const stores = new Map([...opened].map(([name, store]) => [name, gate.guard(store)]));
  const desk = openDesk(database);
  let configuredHosts = hostsOf(settings);
  let upstreamSettings = settings.upstreams;
  const upstreams = open.use(
    openUpstreamClient({
      userAgent: `Tilewarden/${readVersion()}`,
      get upstreams() {
        return upstreamSettings;
      },
      configuredHosts: { has: (host) => configuredHosts.has(host) },
      desk,
      clock,
      log,
    }),
  );
  // A source that draws from another layer needs the pipeline, which needs the catalog.
  let readLayer: (bound: BoundLayer) => ReadableLayer | null = () => null;
  const opener = (source: SourceSettings, _layer: string, below: BoundLayer | null) =>
    openSource(source, upstreams, surroundings, () => below && readLayer(below));
  const catalog = open.use(
    openCatalog({
      layers: settings.layers,
      gridSets: settings.gridSets,
      stores,
      openSource: opener,
      openOldCache: (declaration) => openOldCache(declaration, clock),
      clock,
      log,
    }),
  );
  shapeOf = (set) => metatileSizeFor(catalog.layer(set.layer), set);
  const entries = createCatalogEntries(database, clock);
  const reader = documentReaderOf(settings);
  const declared = new DeclaredEntries({ entries, catalog, reader, log });
  await declared.refresh();
  const privateAdvice = createPrivateAdvice(() => configPathOf(settings, surroundings.file));
  const admit = (source: unknown) =>
    refusePrivate(
      source,
      (host) => configuredHosts.has(host) || upstreamOptionsFor(upstreamSettings, host).allowPrivate,
      privateAdvice,
    );
  const documents = { entries, declared, reader, admit };
  /** The file was read again; answers what is not as it was. */
  const takeUp = (next: Settings): readonly string[] => {
    configuredHosts = hostsOf(next);
    upstreamSettings = next.upstreams;
    return declared.setFixed(next.layers, next.gridSets.gridSets);
  };
  const { memoryTierBytes } = settings;
  const events = createTileEvents();
  const parameters = open.use(openParameterBook({ database, events, clock, log }));
  const parameterSets = open.use(
    openParameterSets({ database, events, clock, most: settings.maxParameterSets }),
  );
  const counters = new Counters(() => takeStoreRequests(opened));
  const activity = new LayerActivity(events, clock);
  const blankAreas = createBlankAreas(database, clock);
  const blankSuspects = new BlankSuspects(clock);
  const pipeline = open.use(
    openTilePipeline({
      cutter,
      events,
      clock,
      random,
      log,
      counters,
      onFailure: (layer, error) => activity.failed(layer, error),
      blankAreas: (layer) => blankAreas.list(layer),
      blankSuspects,
      parameterSets,
      settings: { memoryTierBytes },
      claims: surroundings.claims?.(database),
    }),
  );
  readLayer = createLayerReader(pipeline);
  // Closed before the pipeline, which waits for what is being stored.
  open.use(gate);
  /** What the processes of a node count, and add up. */
  const tallies = { counters, activity, blankSuspects };
  const openPreview = (source: SourceSettings) =>
    opener(source, '', catalog.layer(layerBelow(source)?.layer ?? ''));
  const outside = { upstreams, openSource: openPreview, privateAdvice };
  return {
    database,
    parameters,
    parameterSets,
    catalog,
    documents,
    takeUp,
    pipeline,
    events,
    desk,
    outside,
    blankAreas,
    tallies,
  };
}

function* takeStoreRequests(stores: ReadonlyMap<string, TileStore>): Generator<Count> {
  for (const [store, { takeRequests }] of stores) {
    for (const count of takeRequests?.() ?? []) yield { ...count, labels: { store, ...count.labels } };
  }
}

function hostsOf({ layers, changes }: Settings): ReadonlySet<string> {
  return hostsNamedIn([
    ...layers.flatMap(({ source, updateSources }) => [source, updateSources]),
    ...changes,
  ]);
}

export function databaseOf({ database, data }: Settings): string {
  return database ?? join(data, DATABASE_FILE);
}

export type Road = Awaited<ReturnType<typeof openRoad<UpstreamDesk>>>;

export function openSource(
  source: SourceSettings,
  upstreams: UpstreamClient,
  { log, clock }: Surroundings,
  readLayer: LayerReader,
): TileSource {
  if (source.type === 'layer') return openLayerSource(source, { readLayer });
  if (source.type === 'world') return openWorldSource(source, { logger: log });
  if (source.type === 'archive') return openArchiveSource(source, { upstream: upstreams, clock });
  if (source.type === 'wmts') return openWmtsSource(source, { upstream: upstreams, clock });
  if (source.type === 'xyz') return openXyzSource(source, { upstream: upstreams });
  return openWmsSource(source, { upstream: upstreams });
}
