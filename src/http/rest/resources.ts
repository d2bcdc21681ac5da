import { shortened, TilewardenError } from '../../domain/errors.ts';
import { type DocumentNode, double, leaf, nodeOf } from '../../geowebcache/document-node.ts';
import { type GlobalDocument, readGlobal, writeGlobal } from '../../geowebcache/global-document.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { PipelineStatus } from '../../pipeline/tile-pipeline.ts';
import { type Answer, textAnswer } from '../answer.ts';
import { callerName, type Exchange } from '../exchange.ts';
import type { TileCountSeries } from '../metrics/tile-counts.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps, StoreDescription } from '../route-deps.ts';
import { warningHeader } from './layers.ts';
import { documentAnswer, listAnswer, readRoot, resourceRoutes } from './representation.ts';

const PATH = '/rest/blobstores';
const DEFAULT_STORE = 'default';
const BLOCK_SIZE = 4096;

/** `/rest/blobstores`: our stores in GeoWebCache's words. They are declared in the configuration file. */
export function blobStoreRoutes(stores: readonly StoreDescription[]): readonly Route[] {
  const role = () => 'admin' as const;
  const one = { GET: show, PUT: refuseChange, DELETE: refuseRemoval };
  return [
    ...resourceRoutes({ path: PATH, role, what: 'the stores', handlers: { GET: list } }),
    ...resourceRoutes({ path: `${PATH}/{store}`, role, what: 'a store', handlers: one }),
  ];

  function list(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const names = stores.map(({ name }) => name);
    return listAnswer(exchange, format, { names, entry: 'blobStore', path: PATH });
  }

  function show(exchange: Exchange, format: DocumentFormat): Answer {
    return documentAnswer(describe(found('get', exchange)), format);
  }

  function refuseRemoval(exchange: Exchange): never {
    found('remove', exchange);
    return refuseChange();
  }

  function found(verb: 'get' | 'remove', exchange: Exchange): StoreDescription {
    const name = exchange.param('store');
    const store = stores.find((one) => one.name === name);
    if (store) return store;
    const what = `A BlobStoreInfo with name "${shortened(name)}" does not exist.`;
    throw new HttpProblem('path-unknown', `Failed to ${verb} BlobStoreInfo. ${what}`);
  }
}

function refuseChange(): never {
  throw new TilewardenError(
    'entry-read-only',
    'Stores are declared under "stores" in the configuration file; change them there and restart the server.',
  );
}

function describe({ name, kind, folder, options }: StoreDescription): DocumentNode {
  const root = nodeOf(kind, [
    leaf('id', name),
    leaf('enabled', true),
    leaf('baseDirectory', folder),
    leaf('fileSystemBlockSize', folder === null ? null : BLOCK_SIZE),
    ...Object.entries(options).map(([option, value]) => leaf(option, value)),
  ]);
  return { ...root, attributes: { default: String(name === DEFAULT_STORE) } };
}

/** `/rest/global`: what the service says of itself in capabilities. */
export function globalRoutes({ service, about, rest: { configFile } }: RouteDeps): readonly Route[] {
  const fixed = () => ({ version: about.version, identifier: 'tilewarden', location: configFile });
  return resourceRoutes({
    path: '/rest/global',
    role: () => 'admin',
    what: 'what the service says of itself',
    handlers: { GET: show, PUT: put },
  });

  function show(_: Exchange, format: DocumentFormat) {
    const document: GlobalDocument = { ...service.current, ...fixed() };
    return documentAnswer(writeGlobal(document), format);
  }

  async function put(exchange: Exchange, format: DocumentFormat) {
    const { warnings, remembered, ...change } = readGlobal(readRoot(exchange, format), fixed());
    const before = service.current;
    const all = { ...before.remembered, ...remembered };
    await service.change({ ...change, remembered: all }, callerName(exchange));
    exchange.change = { target: 'global', before, after: service.current };
    return textAnswer(200, '', warningHeader(warnings));
  }
}

interface StatisticsDeps {
  readonly tileCounts: { series(): Iterable<TileCountSeries> };
  readonly status: () => PipelineStatus;
  readonly memoryTierBytes: number;
}

/** `/rest/statistics`: how tiles were answered since the start, and how full the memory in front of the stores is. */
export function statisticsRoutes(deps: StatisticsDeps): readonly Route[] {
  return resourceRoutes({
    path: '/rest/statistics',
    role: () => 'viewer',
    what: 'how tiles were answered',
    handlers: { GET: show },
  });

  function show(_: Exchange, format: DocumentFormat) {
    const { hits, misses } = countsOf(deps.tileCounts);
    const { memoryTierBytes: used } = deps.status();
    const total = hits + misses;
    const share = (count: number) => (total === 0 ? 0 : (100 * count) / total);
    const occupied = deps.memoryTierBytes === 0 ? 0 : (100 * used) / deps.memoryTierBytes;
    return documentAnswer(
      nodeOf('gwcInMemoryCacheStatistics', [
        leaf('hitCount', hits),
        leaf('missCount', misses),
        leaf('totalCount', total),
        double('hitRate', share(hits)),
        double('missRate', share(misses)),
        double('currentMemoryOccupation', occupied),
        leaf('totalSize', deps.memoryTierBytes),
        leaf('actualSize', used),
      ]),
      format,
    );
  }
}

/** What was there, stale or not, and what had to be made; failures are neither. */
function countsOf({ series }: StatisticsDeps['tileCounts']) {
  let [hits, misses] = [0, 0];
  for (const { outcome, count } of series()) {
    if (outcome === 'hit' || outcome === 'stale') hits += count;
    if (outcome === 'miss' || outcome === 'bypass') misses += count;
  }
  return { hits, misses };
}
