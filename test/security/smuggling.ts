import type { Chance } from './mutated-requests.ts';

/** Addresses of a server of `front.test.ts`. */
const TARGETS = [
  '/tiles/world/0/0/0.png',
  '/tiles/world/3/1/2.png',
  '/tiles/world/3/1/2',
  '/tiles/world/3/9/9.png',
  '/tiles/world/5/1/1.png',
  '/tiles/world/6/1/1.png',
  '/tiles/world/2/0/0.png?STYLES=dark',
  '/tiles/world/2/0/0.png?STYLES=none',
  '/tiles/world/2/0/0.png?key=right',
  '/tiles/world/2/0/0.png?key=wrong',
  '/tiles/closed/1/0/0.png',
  '/tiles/closed/1/0/0.png?key=right',
  '/tiles/none/1/0/0.png',
  '/tiles/world/x/0/0.png',
  '/tiles/world/%30/0/0.png',
  '/geowebcache/tiles/world/1/0/0.png',
  '/service/tms/1.0.0/world/1/0/0.png',
  '/service/gmaps?layers=world&zoom=1&x=0&y=0',
  '/service/wmts/rest/world/EPSG:900913/EPSG:900913:1/0/0?format=image/png',
  '/service/wmts?REQUEST=GetTile&LAYER=world&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:1&TILEROW=0&TILECOL=0',
  '/service/wmts?REQUEST=GetTile&REQUEST=GetCapabilities',
  '/tiles/world/7/1/1.png',
  '/tiles/world/%zz/0/0.png',
  '/healthz',
  '/nothing',
  '/rest/layers',
  '/',
  '*',
  'http://localhost/tiles/world/0/0/0.png',
  '//tiles/world/0/0/0.png',
  '/tiles/world/0/0/0.png#x',
  '/tiles/world/0/0/0.png ',
  '/tiles/world/0/0/"0".png',
  '/tiles/w\u00f6rld/0/0/0.png',
  '/tiles/world/0/0/0\t.png',
  `/tiles/${'x'.repeat(5000)}/0/0/0.png`,
];

/** The first of them name tiles, or layers that have none. */
const PLAIN_TARGETS = TARGETS.indexOf('/tiles/world/7/1/1.png');

const HEADERS = [
  'User-Agent: curl/8',
  'Accept: */*',
  'Accept: image/jpeg',
  'Accept-Encoding: gzip, deflate, br',
  'accept-language:de',
  'Connection: keep-alive',
  'Connection: Keep-Alive, TE',
  'Connection: close',
  'Connection: upgrade',
  'Upgrade: h2c',
  'Keep-Alive: timeout=5',
  'If-None-Match: *',
  'If-None-Match: "abcdef01-18"',
  'If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT',
  'If-Modified-Since: never',
  'X-Api-Key: right',
  'X-Api-Key: wrong',
  'Authorization: Basic YTpi',
  'Cookie: a=b',
  'Cookie: c=d',
  'Origin: https://example.org',
  'Referer: https://example.org/map',
  'X-Forwarded-For: 192.0.2.1',
  'X-Forwarded-Host: other.example',
  'x-tilewarden-peer: {"address":"192.0.2.1","secure":true}',
  'Host: other.example',
  'host: localhost',
  'Host : localhost',
  'Host:localhost',
  'Host:  localhost  ',
  'Host:',
  'Host: a b',
  'Expect: 100-continue',
  'Range: bytes=0-1',
  'TE: trailers',
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: 5, 5',
  'Content-Length: +5',
  'Content-Length : 5',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: \u000bchunked',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding : chunked',
  'transfer-encoding:\tchunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'X: y\r\n Transfer-Encoding: chunked',
  'X: y\r\n\tfolded',
  'X: y\nContent-Length: 5',
  'X: y\rContent-Length: 5',
  'X\u0000: y',
  'Accept: \u0000',
  'Accept: \u00e9',
  'Accept: a\u007f',
  'Accept: \t*/*\t',
  'Accept:',
  ': empty',
  'no colon',
  ' Accept: early',
  `Accept: ${'a'.repeat(3000)}`,
  `Accept: ${'a'.repeat(17_000)}`,
];

const PLAIN_HEADERS = 4;

const METHODS = ['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS', 'get', 'GETT', 'GE\u0000T', ' GET'];
const VERSIONS = ['1.1', '1.1', '1.1', '1.1', '1.0', '2.0', '0.9', '1.1 ', '1.01', 'x'];
const LINE_ENDS = ['\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', '\n\r\n'];
const BODIES = [
  '',
  '',
  'hello',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n',
  'x=1',
];
const TILE = 'GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: localhost\r\n\r\n';
const SMUGGLED = `GET /rest/layers HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** Known ways to make two servers see different requests in the same bytes. */
const CORPUS = [
  // Content-Length against Transfer-Encoding, either first.
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG`,
  `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n${SMUGGLED}\r\n0\r\n\r\n`,
  `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n${SMUGGLED}`,
  // Line ends.
  TILE.replaceAll('\r\n', '\n'),
  TILE.replaceAll('\r\n', '\r'),
  `\r\n\r\n${TILE}`,
  `\n${TILE}`,
  `${TILE.slice(0, -2)}\n`,
  `${TILE}\r\n${TILE}`,
  // Names and hosts.
  TILE.replace('Host', 'Host\u0000'),
  TILE.replace('Host:', 'Host :'),
  TILE.replace('\r\n\r\n', '\r\nHost: other\r\n\r\n'),
  TILE.replace('\r\nHost: localhost', ''),
  TILE.replace('localhost', 'localhost\r\n\tother'),
  TILE.replace('HTTP/1.1', 'HTTP/1.1\u000b'),
  TILE.replace(' HTTP/1.1', '  HTTP/1.1'),
  TILE.replace('GET ', 'GET\t'),
  TILE.replace(' HTTP/1.1', ''),
  TILE.replace('/tiles', 'http://evil.example/tiles'),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
  `CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n${TILE}`,
  `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n${TILE}`,
  TILE.repeat(12),
  TILE.slice(0, 20),
  TILE.slice(0, -1),
];

/** The requests of a client on one connection. The front answers the first of them: it has been in use when others come. */
export function randomMessages(chance: Chance): readonly string[] {
  const plain = Array.from({ length: chance.below(12) }, () => plainRequest(chance));
  return [...plain, ...Array.from({ length: 1 + chance.below(4) }, () => randomMessage(chance))];
}

/** Messages as they are cut into packets: of one client at their ends, of another anywhere. */
export function randomPackets(messages: readonly string[], chance: Chance): readonly Buffer[] {
  const bytes = Buffer.from(messages.join(''), 'latin1');
  const cuts = new Set<number>();
  const roughness = chance.next() ** 2;
  let end = 0;
  for (const message of messages) {
    end += message.length;
    if (chance.next() > 0.4 * roughness) cuts.add(end);
    if (chance.next() < 0.16 * roughness) cuts.add(chance.below(end));
    if (chance.next() < 0.16 * roughness) cuts.add(Math.max(0, end - chance.below(5)));
  }
  const edges = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  return edges
    .slice(1)
    .map((edge, i) => bytes.subarray(edges[i], edge))
    .filter((part) => part.length > 0);
}

/** More than half are such that the front answers them: it is to be in every state when something else comes. */
function randomMessage(chance: Chance): string {
  const kind = chance.next();
  if (kind < 0.6) return plainRequest(chance);
  if (kind < 0.7) return mutated(plainRequest(chance), chance);
  if (kind < 0.8) {
    const header = chance.pick(HEADERS);
    const lines = ['Host: localhost', header, ...(chance.next() < 0.3 ? [header] : [])];
    return `GET ${chance.pick(TARGETS)} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
  }
  return kind < 0.9 ? chance.pick(CORPUS) : oddRequest(chance);
}

function plainRequest(chance: Chance): string {
  const header = chance.next() < 0.5 ? '' : `${HEADERS[chance.below(PLAIN_HEADERS)]}\r\n`;
  return `GET ${TARGETS[chance.below(PLAIN_TARGETS)]} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`;
}

function oddRequest(chance: Chance): string {
  const lines = Array.from({ length: chance.below(4) }, () => chance.pick(HEADERS));
  const host = chance.next() < 0.9 ? ['Host: localhost'] : [];
  const first = `${chance.pick(METHODS)} ${chance.pick(TARGETS)} HTTP/${chance.pick(VERSIONS)}`;
  const ends = () => chance.pick(LINE_ENDS);
  return `${[first, ...host, ...lines].map((line) => line + ends()).join('')}${ends()}${chance.pick(BODIES)}`;
}

/** One byte more, less, or another one. */
function mutated(message: string, chance: Chance): string {
  const at = chance.below(message.length);
  const byte =
    chance.next() < 0.5
      ? chance.pick([...'\r\n\t :,/?\u0000\u007f\u00ff'])
      : String.fromCharCode(chance.below(256));
  const kept = chance.below(2);
  const put = chance.next() < 0.3 ? '' : byte;
  return message.slice(0, at) + put + message.slice(at + kept);
}
