import { z } from 'zod';
import type { Format } from '../../domain/format.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import { sameSrs } from '../../domain/srs.ts';
import { someOf } from '../../lib/closest-name.ts';
import { orAborted } from '../../lib/deferred.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { text } from '../../lib/schemas.ts';
import { CONNECTION_OPTIONS, httpAddress, httpOptions } from '../http-options.ts';
import { fillTemplate, keepDescription, openMapServer, unfit, withoutSecrets } from '../map-server.ts';
import { absent, SINGLE_TILES, tileOf } from '../single-tiles.ts';
import type { SourceDriver, SourceTools } from '../source-driver.ts';
import type { SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import { type MatrixSetLink, matchTile, srsOfCrs } from '../wmts-capabilities.ts';
import {
  limitsOf,
  linkedDocument,
  linkTo,
  matrixSetName,
  matrixSetOf,
  readOgcDocument,
  type TileSetItem,
  templatesOf,
  tileMatrixSetDocument,
  tileSetDocument,
  tileSetList,
  wellKnownMatrixSet,
} from './tile-set-documents.ts';

const ogcApiTilesOptions = z.strictObject({
  type: z.literal('ogcapi-tiles'),
  url: httpAddress.describe('Address of the landing page'),
  collection: text
    .optional()
    .describe('Identifier of a collection; the tiles of the whole dataset when left out'),
  tileMatrixSet: text
    .optional()
    .describe('Use only this tile matrix set; by default the one that fits the requested grid set'),
  absent,
  ...httpOptions,
});

type OgcApiTilesOptions = z.output<typeof ogcApiTilesOptions>;
type Kind = 'map' | 'vector';

/** A tile set of the server, with addresses of its tiles by media type. */
interface OfferedTileSet {
  readonly link: MatrixSetLink;
  readonly templates: ReadonlyMap<string, string>;
  /** The base of relative addresses. */
  readonly base: URL;
}

/** Limit of tile sets of one CRS that are read; some servers list one for every scale of a country. */
const MAX_TILE_SETS = 20;

/** Requests single ready-made tiles from a server of OGC API – Tiles, as its documents describe them. */
function openOgcApiTilesSource(
  options: OgcApiTilesOptions,
  { upstream, clock }: Pick<SourceTools, 'upstream' | 'clock'>,
): TileSource {
  const server = openMapServer(options, upstream, new URL(options.url).origin);

  /** All callers share a document, so the signal of none aborts the request. */
  async function read<Document>(url: URL, schema: z.ZodType<Document>): Promise<Document> {
    const headers = { accept: 'application/json' };
    const { signal } = new AbortController();
    const { bytes } = await server.get({ url, headers, priority: 'interactive', signal });
    try {
      return readOgcDocument(bytes, schema);
    } catch (cause) {
      throw unfit(`has a document at ${withoutSecrets(url)} that cannot be read`, cause);
    }
  }

  async function readTileSets(kind: Kind, srs: number): Promise<readonly OfferedTileSet[]> {
    const page = pageAddress(options);
    const linked = linkTo(await read(page, linkedDocument), `tilesets-${kind}`);
    if (!linked) throw unfit(`has no ${kind} tiles at ${withoutSecrets(page)}`);
    const listAddress = addressAt(linked.href, page);
    const { tilesets } = await read(listAddress, tileSetList);
    const wanted = tilesets.filter((item) => isWanted(item, kind, srs, options.tileMatrixSet));
    if (wanted.length === 0) throw unfit(`has no tile set in EPSG:${srs}; it has ${namesOf(tilesets)}`);
    const offered: OfferedTileSet[] = [];
    for (const item of wanted.slice(0, MAX_TILE_SETS)) {
      offered.push(await readTileSet(item, listAddress, String(offered.length)));
    }
    return offered;
  }

  async function readTileSet(item: TileSetItem, base: URL, id: string): Promise<OfferedTileSet> {
    const self = linkTo(item, 'self', 'tileset');
    const address = self ? addressAt(self.href, base) : base;
    const tileSet = self ? await read(address, tileSetDocument) : { ...item, tileMatrixSetLimits: null };
    const scheme = linkTo(tileSet, 'tiling-scheme') ?? linkTo(item, 'tiling-scheme');
    const name = matrixSetName(tileSet) || matrixSetName(item);
    const set = scheme
      ? matrixSetOf(
          id,
          await read(addressAt(scheme.href, address), tileMatrixSetDocument),
          tileSet.crs ?? item.crs,
        )
      : wellKnownMatrixSet(name);
    if (!set) throw unfit(`does not describe its tile matrix set ${name}`);
    const link = { set: { ...set, id }, limits: limitsOf(tileSet) };
    return { link, templates: templatesOf(tileSet), base: address };
  }

  const descriptions = new Map<string, ReturnType<typeof describe>>();
  function describe(kind: Kind, srs: number) {
    return keepDescription(clock, () => readTileSets(kind, srs));
  }
  function descriptionFor({ gridSet, format }: SourceRequest) {
    const kind = format.kind === 'opaque' ? 'vector' : 'map';
    return getOrCreate(descriptions, `${kind} ${gridSet.srs}`, () => describe(kind, gridSet.srs));
  }

  async function fetch(request: SourceRequest): Promise<SourceResult> {
    const tile = chooseTile(await orAborted(descriptionFor(request).current(), request.signal), request);
    if (!tile.offered) return { kind: 'nothing' };
    return server.picture(request, { url: tile.url }, tile.type);
  }

  return {
    maxMetatile: SINGLE_TILES,
    confirms: true,
    addressOf: (request) =>
      descriptionFor(request).address(
        (known) => chooseTile(known, request).url,
        () => pageAddress(options),
      ),
    fetch,
    close: server.close,
  };
}

function pageAddress({ url, collection }: OgcApiTilesOptions): URL {
  const page = new URL(url);
  if (collection === undefined) return page;
  page.pathname = `${page.pathname.replace(/\/$/, '')}/collections/${encodeURIComponent(collection)}`;
  return page;
}

function addressAt(href: string, base: URL): URL {
  if (URL.canParse(href, base.href)) return new URL(href, base);
  throw unfit(`links to ${href}, which is no address`);
}

function isWanted(item: TileSetItem, kind: Kind, srs: number, wanted: string | undefined): boolean {
  if (item.dataType !== undefined && item.dataType !== kind) return false;
  if (wanted !== undefined && matrixSetName(item) !== wanted) return false;
  const own = srsOfCrs(item.crs ?? '');
  return own === null || sameSrs(own, srs);
}

function namesOf(items: readonly TileSetItem[]): string {
  return someOf(items.map((item) => `${matrixSetName(item)} (${item.crs ?? 'no CRS'})`));
}

function chooseTile(sets: readonly OfferedTileSet[], request: SourceRequest) {
  const { gridSet, format } = request;
  const index = tileOf(request);
  const links = sets.map(({ link }) => link);
  const tile = matchTile(links, gridSet, index);
  const set = tile && sets.find(({ link }) => link.set.id === tile.matrixSet);
  if (!set) throw unfit(misfit(links, gridSet, index.z));
  const [type, template] = chooseTemplate(set.templates, format);
  const values = new Map([
    ['tilematrix', tile.matrix],
    ['tilerow', String(tile.row)],
    ['tilecol', String(tile.column)],
  ]);
  const filled = fillTemplate(template, values);
  return { type, url: addressAt(filled, set.base), offered: tile.offered };
}

function misfit(links: readonly MatrixSetLink[], gridSet: GridSet, zoom: number): string {
  const offered = someOf(links.map(({ set }) => `${set.crs} with ${set.matrices.length} matrices`));
  return `has no tile set that fits grid set ${gridSet.name} at zoom ${zoom}, with the same CRS, resolution, origin and tile size; it has ${offered}`;
}

/** The format of the layer's tiles if the server has it, else PNG, else the server's first. */
function chooseTemplate(
  templates: ReadonlyMap<string, string>,
  { contentType }: Format,
): readonly [type: string, template: string] {
  for (const type of [contentType, 'image/png', ...templates.keys()]) {
    const template = templates.get(type);
    if (template !== undefined) return [type, template];
  }
  throw unfit('has a tile set without addresses of tiles');
}

export const ogcApiTilesDriver = {
  type: 'ogcapi-tiles',
  options: ogcApiTilesOptions,
  shown: ['url', 'collection', 'tileMatrixSet'],
  connection: CONNECTION_OPTIONS,
  pictures: 'ready-made',
  passesCredentials: true,
  queryable: false,
  open: openOgcApiTilesSource,
} as const satisfies SourceDriver<OgcApiTilesOptions>;
