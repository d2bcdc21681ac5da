import { addressOf, everyRoute } from './every-route.ts';
import { SMALL_LAYER } from './guarded-server.ts';
import { hostileBodies } from './hostile-bodies.ts';

/** A small generator with a seed, so that a finding can be reproduced. */
export function createChance(seed: number) {
  let state = seed >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const pick = <T>(items: readonly T[]): T => {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };
  return { next, below, pick };
}

export type Chance = ReturnType<typeof createChance>;

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'get',
  'G\u0000T',
  'PRI',
  'M-SEARCH',
];
const SEGMENTS = [
  '..',
  '.',
  '',
  '%2e%2e',
  '%00',
  '%ff',
  'small',
  'rest',
  'api',
  'v1',
  '0',
  '-1',
  '99999999999',
  '{layer}',
  'a'.repeat(300),
  '%E2%80%AE',
];
const QUERIES = [
  '',
  '?',
  '?STYLES=dark',
  '?limit=-1',
  '?since=x',
  '?a=%',
  '?__proto__=1',
  `?${'a&'.repeat(500)}`,
  '?layer=%00',
  '?state=running,,',
  '?SERVICE=WMS&REQUEST=GetMap&VERSION=1.1.1&LAYERS=small&SRS=EPSG:900913&BBOX=0,0,-1,NaN&WIDTH=99999&HEIGHT=0',
  '?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=small&TILEMATRIXSET=EPSG:900913&TILEMATRIX=0&TILEROW=-1&TILECOL=1e9',
  '?SERVICE=WMS&REQUEST=GetFeatureInfo&LAYERS=small&I=1&J=%00',
  '?bbox=1,2,3&gridSet=EPSG:4326&zoom=31',
  '?f=html&tileMatrix=0&datetime=../..',
  '?from=-1&to=1e400&step=0',
];
const HEADERS = [
  'Content-Type: text/xml',
  'Content-Type: application/json',
  'Content-Type: application/x-www-form-urlencoded',
  'Content-Type: ;;;',
  'Content-Type: application/json; charset=utf-7',
  'Content-Encoding: gzip',
  'Expect: 100-continue',
  'Upgrade: websocket',
  'Connection: Upgrade, close',
  'Range: bytes=0-0,1-1,2-2',
  'If-None-Match: *',
  'If-Modified-Since: yesterday',
  'Accept-Encoding: gzip;q=0, *;q=1',
  'Last-Event-ID: -1',
  'Idempotency-Key: \u00ff',
  'Origin: null',
  'Sec-Fetch-Site: cross-site',
  'X-Forwarded-For: 1.2.3.4, ::1, junk',
  'X-Forwarded-Host: evil/../x',
  'X-HTTP-Method-Override: DELETE',
  'Cookie: tilewarden=x; __Host-tilewarden==; ;;=',
  'Authorization: Bearer tw_',
  'Authorization: Basic =',
  'Transfer-Encoding: chunked',
  'Content-Length: 5',
  `X-Long: ${'y'.repeat(3000)}`,
];

/** A request that is nearly right: a real route and a real body, with something wrong in grammar or bytes. */
export function createMutator(chance: Chance, authorization: string): () => Buffer {
  const routes = everyRoute();
  const bodies = hostileBodies('/nowhere', 'http://127.0.0.1:9').map(({ body }) => body);
  const seeds = [
    '{"seedRequest":{"zoomStop":0}}',
    '<seedRequest><zoomStop>0</zoomStop></seedRequest>',
    'kill_all=pending',
    '<truncateLayer><layerName>small</layerName></truncateLayer>',
    '{"layer":"small","cron":"0 3 * * *","work":"invalidate"}',
    '{"layer":"small","bounds":[-180,-90,180,90],"zoomStart":0,"zoomStop":0}',
    '{"layer":"small","gridSet":"EPSG:900913","type":"reseed","zoomStop":0}',
    '{"name":"eve","role":"viewer","password":"a long enough password"}',
  ];

  return () => {
    const body = bodyBytes();
    const request = Buffer.concat([Buffer.from(head(body.length), 'latin1'), body]);
    return chance.next() < 0.4 ? damaged(request) : request;
  };

  function head(length: number): string {
    const route = chance.pick(routes);
    const method = chance.next() < 0.7 ? route.method : chance.pick(METHODS);
    const prefix = chance.pick(['', '', '', '/geowebcache', '/geoserver/gwc', '//']);
    const target = `${prefix}${mangled(addressOf(route.path, SMALL_LAYER))}${chance.pick(QUERIES)}`;
    const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost'];
    if (chance.next() < 0.7) lines.push(`Authorization: ${authorization}`);
    if (chance.next() < 0.8) lines.push(`Content-Length: ${length}`);
    for (let i = chance.below(4); i > 0; i--) lines.push(chance.pick(HEADERS));
    return `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`;
  }

  function mangled(path: string): string {
    if (chance.next() < 0.6) return path;
    const segments = path.split('/');
    segments.splice(1 + chance.below(segments.length), chance.below(2), chance.pick(SEGMENTS));
    return segments.join('/');
  }

  function bodyBytes(): Buffer {
    if (chance.next() < 0.3) return Buffer.alloc(0);
    return chance.next() < 0.5 ? chance.pick(bodies) : damaged(Buffer.from(chance.pick(seeds)));
  }

  function damaged(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes);
    for (let i = 1 + chance.below(6); i > 0 && copy.length > 0; i--)
      copy[chance.below(copy.length)] = chance.below(256);
    return chance.next() < 0.2 ? copy.subarray(0, chance.below(copy.length + 1)) : copy;
  }
}
