/** GeoWebCache's resources for stores, global settings, statistics and reloading, and their index. */
import { shortened, TilewardenError } from '../../domain/errors.ts';
import { type DocumentNode, double, leaf, nodeOf } from '../../geowebcache/document-node.ts';
import { type GlobalDocument, readGlobal, writeGlobal } from '../../geowebcache/global-document.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import type { Reloaded, StoreDescription } from '../api/route-deps.ts';
import { FORM, requireMediaType } from '../auth/request-checks.ts';
import { type Html, html, pageResponse } from '../page.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import { textResponse } from '../response.ts';
import { warningHeader } from './layers.ts';
import { documentResponse, listResponse, readRoot } from './representation.ts';

const DEFAULT_STORE = 'default';
const BLOCK_SIZE = 4096;

type OfStore = Call<{ params: 'store' }>;

export function listStores({ context }: Call, { rest }: ApiDeps, format: DocumentFormat) {
  return listResponse(context, format, rest.stores, 'blobStore', '/rest/blobstores');
}

export function showStore(call: OfStore, deps: ApiDeps, format: DocumentFormat) {
  return documentResponse(describe(storeNamed('get', call, deps)), format);
}

export function refuseRemoval(call: OfStore, deps: ApiDeps): never {
  storeNamed('remove', call, deps);
  return refuseChange();
}

function storeNamed(verb: 'get' | 'remove', { params }: OfStore, { rest }: ApiDeps): StoreDescription {
  const store = rest.stores.find(({ name }) => name === params.store);
  if (store) return store;
  const reason = `A BlobStoreInfo with name "${shortened(params.store)}" does not exist.`;
  throw new HttpProblem('path-unknown', `Failed to ${verb} BlobStoreInfo. ${reason}`);
}

export function refuseChange(): never {
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

function fixedOf({ about, rest }: ApiDeps) {
  return { version: about.version, identifier: 'tilewarden', location: rest.configFile };
}

export function showGlobal(_: Call, deps: ApiDeps, format: DocumentFormat) {
  const document: GlobalDocument = { service: deps.service.current, ...fixedOf(deps) };
  return documentResponse(writeGlobal(document), format);
}

export async function putGlobal({ context, caller, note }: Call, deps: ApiDeps, format: DocumentFormat) {
  const { service } = deps;
  const { warnings, service: change } = readGlobal(readRoot(context, format), fixedOf(deps));
  const before = { service: service.current };
  await service.change(change, caller.name);
  note({ target: 'global', before, after: { service: service.current } });
  return textResponse(200, '', warningHeader(warnings));
}

/** Counts of tile responses since the start, without failures, and the use of the memory tier. */
export function showStatistics(_: Call, { rest, traffic, metrics }: ApiDeps, format: DocumentFormat) {
  let [hits, misses] = [0, 0];
  for (const { outcome, count } of traffic.counts()) {
    if (outcome === 'hit' || outcome === 'stale') hits += count;
    if (outcome === 'miss' || outcome === 'bypass') misses += count;
  }
  const { memoryTierBytes: used } = metrics.pipeline.status();
  const total = hits + misses;
  const share = (count: number) => (total === 0 ? 0 : (100 * count) / total);
  const occupied = rest.memoryTierBytes === 0 ? 0 : (100 * used) / rest.memoryTierBytes;
  return documentResponse(
    nodeOf('gwcInMemoryCacheStatistics', [
      leaf('hitCount', hits),
      leaf('missCount', misses),
      leaf('totalCount', total),
      double('hitRate', share(hits)),
      double('missRate', share(misses)),
      double('currentMemoryOccupation', occupied),
      leaf('totalSize', rest.memoryTierBytes),
      leaf('actualSize', used),
    ]),
    format,
  );
}

const MAX_NAMED = 100;

export async function reloadConfiguration({ context, note }: Call, { rest }: ApiDeps) {
  // Some client libraries declare the form as JSON.
  requireMediaType(context.headers, [FORM, 'text/xml', 'application/json']);
  const form = new URLSearchParams(`${context.query}&${context.body.toString('utf8').trim()}`);
  if (!form.has('reload_configuration')) {
    throw new HttpProblem(
      'header-invalid',
      'Unknown or malformed request: the form must have reload_configuration=1.',
    );
  }
  const reloaded = await rest.reload();
  if ('problems' in reloaded)
    return { ...problemPage(reloaded.problems), status: statusOf('request-invalid') };
  const { changed, upstreams } = reloaded;
  note({ target: 'configuration', after: { changed: changed.slice(0, MAX_NAMED), upstreams } });
  return reloadedPage(reloaded);
}

function problemPage(problems: readonly string[]) {
  const body = html`<p>There was a problem reloading the configuration; nothing has changed:</p>
${list(problems)}`;
  return pageResponse('The configuration was not reloaded', body);
}

/** The first sentence is GeoWebCache's: its clients search for it. */
function reloadedPage({ layers, changed, upstreams, restart }: Exclude<Reloaded, { problems: unknown }>) {
  const body = html`<p>TileLayerConfiguration reloaded. Read ${layers} layers from configuration resources.</p>
${changed.length === 0 ? html`<p>No layer changed.</p>` : html`<p>Changed: ${changed.slice(0, MAX_NAMED).join(', ')}. Tiles of changed sources are renewed before they are shown.</p>`}
${upstreams.length === 0 ? html`` : html`<p>Upstreams changed: ${upstreams.slice(0, MAX_NAMED).join(', ')}.</p>`}
${restart.length === 0 ? html`` : html`<p>Changes to ${restart.join(', ')} take effect after a restart.</p>`}`;
  return pageResponse('Configuration reloaded', body);
}

function list(lines: readonly string[]): Html {
  return html`<ul>
${lines.map((line) => html`<li>${line}</li>`)}
</ul>`;
}

const RESOURCES = ['layers', 'gridsets', 'blobstores', 'global', 'statistics', 'seed.json', 'masstruncate'];

export function showIndex({ context: { baseUrl } }: Call) {
  return pageResponse(
    'Resources',
    html`<p>Resources available from here:</p>
<ul>
${RESOURCES.map((name) => html`<li><a href="${baseUrl}/rest/${name}">${name}</a></li>`)}
</ul>`,
  );
}
