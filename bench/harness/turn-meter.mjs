/**
 * Loaded before a server: measures the longest turn of its event loop, by the clock and by the processor time of the loop's
 * thread; the second is the same on a busy machine. It listens on the port in the file that TURN_METER names: `GET /turns`
 * returns both in milliseconds and resets them, `GET /heap` the bytes in use after a collection of garbage. Children of the
 * server measure themselves if TURN_METERS names a folder, in files named after their process ids.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION = 2;
const { TURN_METER, TURN_METERS } = process.env;
const file = TURN_METERS ? join(TURN_METERS, String(process.pid)) : TURN_METER;
delete process.env.TURN_METER;
if (isMainThread && file) measure(file);

function measure(portFile) {
  let longest = { clock: 0, processor: 0 };
  let last = now();
  setInterval(() => {
    const { clock, processor } = now();
    longest = {
      clock: Math.max(longest.clock, clock - last.clock - RESOLUTION),
      processor: Math.max(longest.processor, processor - last.processor),
    };
    last = { clock, processor };
  }, RESOLUTION).unref();
  const server = createServer(({ url }, response) => {
    const { user, system } = process.cpuUsage();
    response.end(JSON.stringify(url === '/heap' ? heap() : { longest, processor: (user + system) / 1000 }));
    if (url === '/turns') longest = { clock: 0, processor: 0 };
    else last = now();
  });
  server.listen(0, '127.0.0.1', () => writeFileSync(portFile, String(server.address().port)));
  server.unref();
}

/** Node.js without the flag from the start: with it, the code that the build keeps compiled would not be used. */
function heap() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

/** Milliseconds; those of the processor are the main thread's, to a few. */
function now() {
  const processor = Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  return { clock: performance.now(), processor };
}
