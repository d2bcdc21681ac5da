import { expect, it } from 'vitest';
import { tileRequestIn } from './access-log.ts';

const combined = (request: string, status = 200) =>
  `127.0.0.1 - - [17/Nov/2026:03:00:00 +0000] "${request}" ${status} 512 "-" "QGIS \\x22x\\x22"`;

it.each([
  [combined('GET /tiles/roads/3/1/2.png HTTP/1.1'), '/tiles/roads/3/1/2.png'],
  [combined('GET /tiles/caf\\xc3\\xa9/3/1/2.png HTTP/1.1', 304), '/tiles/caf%c3%a9/3/1/2.png'],
  [
    '[pid: 9|app: 0|req: 1/1] 127.0.0.1 () {36 vars in 500 bytes} [Thu Nov 19 01:12:05 2026] GET /service?LAYERS=a(b) => generated 512 bytes in 3 msecs (HTTP/1.1 200) 4 headers in 100 bytes (1 switches on core 0)',
    '/service?LAYERS=a(b)',
  ],
  [combined('POST /api/v1/tasks HTTP/1.1'), null],
  [combined('GET /tiles/roads/3/1/2.png HTTP/1.1', 404), null],
  [JSON.stringify({ method: 'GET', path: '/tiles/a/0/0/0.png', status: 200 }), '/tiles/a/0/0/0.png'],
  [JSON.stringify({ method: 'GET', path: '/tiles/a/0/0/0.png', status: 503 }), null],
  [JSON.stringify({ method: 'GET', path: 7, status: 200 }), null],
  ['{"method":"GET","path":"/til', null],
  ['', null],
  [combined(`GET /${'x'.repeat(3000)} HTTP/1.1`), null],
])('the address in the log line %j is %j', (line, address) => {
  expect(tileRequestIn(line)).toBe(address);
});
