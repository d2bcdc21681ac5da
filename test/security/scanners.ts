/** All that reads text from outside, each with hostile texts of full length. A new scanner is one more entry. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isKnownToAll } from '../../src/access/user.ts';
import { MAX_REST } from '../../src/app/read-map-server.ts';
import { createChangeApplier } from '../../src/changes/apply-changes.ts';
import { readChange } from '../../src/changes/feeds/read-change.ts';
import { readGeoRss } from '../../src/changes/feeds/read-georss.ts';
import { readTile } from '../../src/changes/feeds/tile-list-feed.ts';
import { isSigned } from '../../src/changes/feeds/webhook-feed.ts';
import { mergePlaces } from '../../src/changes/merge-places.ts';
import { tileRequestIn } from '../../src/cli/access-log.ts';
import { createDocumentReader } from '../../src/config/document-reader.ts';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { readInstant, readPeriod } from '../../src/domain/iso-time.ts';
import { joinFeatureInfo, MAX_JOINED } from '../../src/domain/join-feature-info.ts';
import { polygonsOfGeoJson, polygonsOfWkt } from '../../src/domain/named-area.ts';
import { createParameterFilter, selectParameters } from '../../src/domain/parameter-filter.ts';
import { readWkb } from '../../src/domain/read-wkb.ts';
import { readTimeValues } from '../../src/domain/time-values.ts';
import { readDocument } from '../../src/geowebcache/read-document.ts';
import { openAccessLog } from '../../src/http/access-log.ts';
import { returnPath } from '../../src/http/api/oidc-login.ts';
import { checkBody, readJson, readQuery } from '../../src/http/api/read-body.ts';
import { loginBody } from '../../src/http/api/session.ts';
import { isLoopbackHost } from '../../src/http/auth/peer.ts';
import { presentedKeyOf } from '../../src/http/auth/reader-key.ts';
import { readSeedForm, readSeedRequest } from '../../src/http/gwc/seed-request.ts';
import { DEFAULT_LIMITS } from '../../src/http/limits.ts';
import { readKvp } from '../../src/http/services/kvp.ts';
import { readGeoServerDrawings } from '../../src/import/geoserver-rest.ts';
import { importCapabilities } from '../../src/import/import-capabilities.ts';
import { importUsers } from '../../src/import/import-quota-and-users.ts';
import { ImportReport } from '../../src/import/import-report.ts';
import { readCoverage } from '../../src/import/mapproxy-coverage.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { hideCredentials } from '../../src/lib/hide-secrets.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { plainExcerpt } from '../../src/lib/plain-excerpt.ts';
import { checkJson } from '../../src/sources/arcgis/arcgis-source.ts';
import {
  MAX_DOCUMENT,
  readOgcDocument,
  tileSetDocument,
} from '../../src/sources/ogcapi-tiles/tile-set-documents.ts';
import { freshnessOf } from '../../src/sources/upstream/read-response.ts';
import { parseRetryAfter } from '../../src/sources/upstream/upstream-failure.ts';
import { readWmtsLayer, srsOfCrs } from '../../src/sources/wmts-capabilities.ts';
import { placeholdersOf } from '../../src/sources/xyz/xyz-source.ts';
import { createTestApp, layerNamed } from '../fixtures/http-app.ts';
import { inLength, isLong, randomSeed } from '../fixtures/length.ts';

export interface Scanner {
  readonly name: string;
  /** Characters that it is given at most. */
  readonly length: number;
  /** Hostile texts of about a length. */
  readonly texts: Readonly<Record<string, (length: number) => string>>;
  scan(text: string, bytes: Buffer): unknown;
}

const { bodySize, addressLength, headerSize } = DEFAULT_LIMITS;
/** As much as an upstream may send, but for the elements around it; `npm test` has less time. */
const DOCUMENT = inLength(0.5, 31) * 2 ** 20;
const [KIB, JSON_TYPE] = [1024, { 'content-type': 'application/json' }];

/** Parts that begin, separate or end something for one scanner or another. */
const PARTS =
  '" \\" \\ \' < <!-- --> <![CDATA[ <script <a > & &amp; &#x41; %3D % = key= keykey key token": http:// ' +
  'http://a@ :// // / .. ? ?a=b& # : ; , . - _ 0 9.9e [ ] { [{ ( ) * a é \u{1f600} \u0000 EPSG: bytes=0- W/"x" q=0.5 a=b; basic bearer';
const SPACED = [' ', '\t', '\n', '\r\n', ' ,', '0 ', 'a b', '"a":'];
/** Every third part in the short form, others in another run. */
const TURN = randomSeed() % 3;
const REPEATED = Object.fromEntries(
  [...PARTS.split(' '), ...SPACED]
    .filter((_, at) => isLong || at % 3 === TURN)
    .map((part) => [
      JSON.stringify(part),
      (length: number) => part.repeat(Math.ceil(length / part.length)).slice(0, length),
    ]),
);
/** As many items as fit, each different. */
const listed =
  (write: (i: number) => string, separator: string, [open, close] = ['', '']) =>
  (length: number) => {
    const items: string[] = [];
    for (let used = 0; used < length; used += (items.at(-1)?.length ?? 0) + separator.length) {
      items.push(write(items.length));
    }
    return open + items.join(separator) + close;
  };

const BODIES = {
  ...REPEATED,
  'escaped quotes': (length: number) => `"${'\\"'.repeat(length / 2)}`,
  'unknown fields': listed((i) => `"a${i}":1`, ',', ['{', '}']),
  'long lists': listed(() => '0', ',', ['{"layers":[', ']}']),
  'an unknown field': (length: number) => `{"${'a'.repeat(length)}":1}`,
};
const FIELDS = { ...REPEATED, 'many fields': listed((i) => `a${i}=`, '&') };
const XML = {
  ...REPEATED,
  elements: listed(() => '<a/>', '', ['<seedRequest>', '</seedRequest>']),
  attributes: listed((i) => `a${i}=""`, ' ', ['<seedRequest ', '/>']),
  'an attribute': (length: number) => `<seedRequest a="${'&amp;'.repeat(length / 5)}"/>`,
  text: (length: number) => `<seedRequest><type>${' '.repeat(length)}</type></seedRequest>`,
};

/** A line that winds around the world, so that each edge is curved elsewhere. */
const winding = (i: number) => [85 * Math.sin(i * 2.4), 80 * Math.cos(i * 1.7)] as const;
const position = (i: number) => winding(i).map((value) => value.toFixed(3));
const latLon = (i: number) => position(i).reverse().join(' ');
const geoRss = (inner: (length: number) => string) => (length: number) =>
  `<feed><entry><id>a</id>${inner(length)}</entry></feed>`;
const FEEDS = {
  'a polygon': geoRss(listed(latLon, ' ', ['<polygon>', '</polygon>'])),
  'a line of one place': geoRss(listed(() => '1 1', '\n', ['<line>', '</line>'])),
  spaces: geoRss((length) => `<polygon>${' '.repeat(length)}</polygon>`),
  'one number': geoRss((length) => `<polygon>${'1'.repeat(length)}</polygon>`),
  'elements of an entry': geoRss(listed(() => '<pos>1 1</pos>', '', ['<where><Point>', '</Point></where>'])),
  'entries without an id': listed(() => '<entry><point>1 1</point></entry>', '', ['<feed>', '</feed>']),
  'a text in place of an id': (length: number) =>
    `<feed><entry><title>${'a'.repeat(length)}</title></entry></feed>`,
};
const CAPABILITIES = {
  layers: listed((i) => `<Layer><Name>a${i}</Name><Title>a</Title><CRS>EPSG:3857</CRS></Layer>`, '', [
    '<WMS_Capabilities><Capability><Request><GetMap/></Request><Layer>',
    '</Layer></Capability></WMS_Capabilities>',
  ]),
  'layers of a WMTS': listed((i) => `<Layer><Identifier>a${i}</Identifier></Layer>`, '', [
    '<Capabilities><Contents>',
    '</Contents></Capabilities>',
  ]),
  'a text': (length: number) =>
    `<Capabilities><Contents>${'0 '.repeat(length / 2)}</Contents></Capabilities>`,
  'an attribute': (length: number) => `<Capabilities a="${'&amp;'.repeat(length / 5)}"/>`,
};
const GEOJSON = {
  'a polygon': listed((i) => `[${position(i)}]`, ',', ['{"type":"Polygon","coordinates":[[', ']]}']),
  polygons: listed((i) => `[[[${position(i)}],[${position(i + 1)}],[${position(i + 2)}]]]`, ',', [
    '{"type":"MultiPolygon","coordinates":[',
    ']}',
  ]),
  points: listed((i) => `[${position(i)}]`, ',', ['{"type":"MultiPoint","coordinates":[', ']}']),
};

const OGC_LISTS = {
  ...REPEATED,
  ...Object.fromEntries(
    ['links', 'tileMatrixSetLimits'].flatMap((name) =>
      ['{}', '0', '[]', '{"href":"a","rel":"item"}'].map((item) => [
        `${name} of ${item}`,
        listed(() => item, ',', [`{"${name}":[`, ']}']),
      ]),
    ),
  ),
};
/** In hexadecimal: multipolygons whose polygons have so many rings of so many points. */
const polygonsInWkb = (rings: number, points: number) => (length: number) => {
  const ring = `${hex(points)}${'0'.repeat(32 * points)}`;
  const polygon = `0103000000${hex(rings)}${ring.repeat(rings)}`;
  const count = Math.max(1, Math.floor(length / polygon.length));
  return `0106000000${hex(count)}${polygon.repeat(count)}`;
};
const hex = (count: number) => Buffer.from(Uint32Array.of(count).buffer).toString('hex');
const WKB = {
  'small polygons': polygonsInWkb(1, 4),
  'empty polygons': polygonsInWkb(0, 0),
  'empty rings': polygonsInWkb(100_000, 0),
  'long rings': polygonsInWkb(1, 10_000),
};

const TIMES: Scanner['texts'] = {
  ...REPEATED,
  years: (length) => '2026-01-01,'.repeat(length / 11),
  intervals: (length) => '2026-01-01T00:00:00Z/now/P1M,'.repeat(length / 29),
  digits: (length) => `P${'1'.repeat(length)}`,
  periods: (length) => `P${'1Y'.repeat(length / 2)}`,
};

const KEYS: Scanner['texts'] = {
  ...FIELDS,
  'keys after a text': (length) => `${'a'.repeat(length / 2)}${'&key='.repeat(length / 10)}`,
  'marks before a key': (length) => `${'?key'.repeat(length / 8)}${'?key='.repeat(length / 10)}`,
};
const requestFor = (query: string) => ({ url: `/tiles?${query}`, headers: {} }) as never;

export function createScanners(): readonly Scanner[] {
  const app = createTestApp();
  const applier = applierOfChanges();
  const documents = createDocumentReader({
    stores: new Map(),
    groups: new Map(),
    adoptFolders: [],
    adoptBuckets: {},
  } as never);
  const filters = ['.*', '(a|b)*c', '(a+)+c'].map((regex, i) =>
    createParameterFilter({ name: `P${i}`, defaultValue: 'c', regex }),
  );
  const bytes = (
    name: string,
    length: number,
    scan: (bytes: Buffer) => unknown,
    texts: Scanner['texts'] = REPEATED,
  ): Scanner => ({ name, length, texts, scan: (_, given) => scan(given) });
  const body = (name: string, scan: (body: Buffer) => unknown, texts: Scanner['texts'] = BODIES) =>
    bytes(name, bodySize, scan, texts);
  const text = (
    name: string,
    length: number,
    scan: Scanner['scan'],
    texts: Scanner['texts'] = REPEATED,
  ): Scanner => ({ name, length, scan, texts });
  const header = (name: string) =>
    text(`the header ${name}`, headerSize, (value) =>
      app.request('GET', '/tiles/world/EPSG:900913/0/0/0.png', { headers: { [name]: value } }),
    );
  const headers =
    'accept accept-encoding authorization cookie host if-modified-since if-none-match origin range referer sec-fetch-site user-agent x-forwarded-for x-forwarded-host';
  const logs = (['combined', 'json'] as const).map((format) =>
    text(`a ${format} line of the access log`, headerSize, accessLogLine(format)),
  );
  return [
    body('a JSON body', (sent) => readJson({ headers: JSON_TYPE, body: sent })),
    body('the fields of a body', (sent) => checkBody(JSON.parse(sent.toString()), loginBody)),
    body('a layer over HTTP', (sent) => documents.layer(JSON.parse(sent.toString()), NO_CATALOG as never)),
    body('an XML body', (sent) => readDocument(sent, 'xml'), XML),
    body('a JSON body as GeoWebCache sends it', (sent) => readDocument(sent, 'json')),
    body('a seed request', (sent) => readSeedRequest(sent, 'xml', 'roads'), XML),
    body('a form', (sent) => readSeedForm(new URLSearchParams(sent.toString()), 'roads'), FIELDS),
    body('a webhook', (sent) => readChange(JSON.parse(sent.toString()), ['roads']), GEOJSON),
    body('a change of places', (sent) => applier(sent.toString()), GEOJSON),
    body('a signature', (sent) => isSigned('secret', sent, () => sent.toString('latin1', 0, headerSize), 0)),
    text('an address', addressLength, (path) => app.request('GET', `/${encodeURI(path)}`)),
    text('a query', addressLength, (query) => readQuery({ query } as never, loginBody as never), FIELDS),
    text(
      'keys of an address',
      64 * KIB,
      (query) => presentedKeyOf(requestFor(query), () => ({ key: null })),
      KEYS,
    ),
    text('the query of a map service', addressLength, (query) => readKvp(query)('LAYERS'), FIELDS),
    text('a parameter', addressLength, (value) => selectParameters(filters, new Map([['P1', value]]))),
    text('an instant', addressLength, (value) => [readInstant(value), readPeriod(value)], TIMES),
    text('times of capabilities', DOCUMENT, (value) => readTimeValues([value]), TIMES),
    text('a path to return to', addressLength, returnPath),
    ...headers.split(' ').map(header),
    text('a name of this machine', headerSize, isLoopbackHost),
    text('a password', headerSize, (password) => isKnownToAll(password, 'ada')),
    ...logs,
    text('an error page', 32 * KIB, plainExcerpt),
    text('an error message', 32 * KIB, hideCredentials),
    text('the times of an answer', headerSize, (value) =>
      freshnessOf(
        { 'cache-control': value, etag: value, age: value, 'last-modified': value, warning: `99 ${value}` },
        0,
      ),
    ),
    text('a time to wait', headerSize, (value) => parseRetryAfter(value, 0)),
    text('a CRS of capabilities', headerSize, srsOfCrs),
    text('a template of capabilities', headerSize, placeholdersOf),
    text('a line of a tile list', 80, readTile),
    text('a line of an access log', 64 * KIB, tileRequestIn),
    text('users of GeoWebCache', 64 * KIB, (users) => importUsers(users, new ImportReport())),
    text('a coverage of MapProxy', 64 * KIB, (wkt) =>
      readCoverage({ datasource: 'a', srs: 'EPSG:4326' }, () => wkt),
    ),
    ...['text/xml', 'text/html', 'application/json'].map((type) =>
      bytes(
        `feature information as ${type}`,
        MAX_JOINED / 2,
        (info) => joinFeatureInfo(type, [info, info]),
        FEEDS,
      ),
    ),
    text('an area in WKT', bodySize, polygonsOfWkt, {
      ...REPEATED,
      'a polygon': listed(latLon, ',', ['POLYGON ((', '))']),
    }),
    body('an area in GeoJSON', (sent) => polygonsOfGeoJson(JSON.parse(sent.toString())), GEOJSON),
    text('an area of a table', 4 * DOCUMENT, (wkb) => readWkb(Buffer.from(wkb, 'hex')), WKB),
    bytes('a document of OGC API', MAX_DOCUMENT, (sent) => readOgcDocument(sent, tileSetDocument), OGC_LISTS),
    bytes('feature information of ArcGIS', DOCUMENT, checkJson),
    text('a style of GeoServer', MAX_REST, geoServerStyle),
    bytes('a GeoRSS feed', DOCUMENT, (feed) => readGeoRss(feed, 4326), FEEDS),
    bytes('capabilities for a layer', DOCUMENT, (xml) => readWmtsLayer(xml, 'a'), CAPABILITIES),
    bytes('capabilities to import', DOCUMENT, (xml) => importCapabilities(xml, IMPORT), CAPABILITIES),
  ];
}

const IMPORT = { address: new URL('http://maps.test/wms'), only: null, gridSets: builtInGridSets() };
const NO_CATALOG = { declaration: () => null, layerNames: () => [], gridSets: new Map() };

/** Of one layer, whose style has this text. */
function geoServerStyle(text: string) {
  const layer = { layer: { defaultStyle: { name: 'a' } } };
  return readGeoServerDrawings(['a'], { json: async () => layer, text: async () => text });
}

/** From the event to the areas of tiles, in three grid sets. */
function applierOfChanges() {
  const layer = layerNamed('roads');
  const { apply } = createChangeApplier({
    catalog: { layer: () => ({ layer }) as never, record: () => null },
    removals: { remove: async () => [] },
    renew: async () => {},
  });
  return async (geoJson: string) => {
    const { place } = readChange(JSON.parse(geoJson), ['roads']);
    await mergePlaces(place ? [place] : []);
    await apply({ name: 'edits', layers: ['roads'], action: 'invalidate', buffer: 0 }, [
      { layers: null, place },
    ]);
  };
}

function accessLogLine(format: 'combined' | 'json') {
  const file = join(mkdtempSync(join(tmpdir(), 'tilewarden-lines-')), 'access.log');
  const log = openAccessLog(file, format, { clock: systemClock, log: silentLogger });
  return async (text: string) => {
    const url = `/?a=${text.slice(0, addressLength)}`;
    const headers = { 'user-agent': text, referer: `http://a.test/?return=${text}` };
    const request = { method: 'GET', url, httpVersion: '1.1', headers };
    log.add({ request, address: '::1', caller: null, status: 200, bytes: 1, ms: 1, cache: null });
  };
}
