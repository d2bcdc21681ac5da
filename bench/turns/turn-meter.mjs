/**
 * Loaded before a server: measures the longest turn of its event loop, by the clock and by the processor's time that
 * the loop's thread had in it; the second is the same on a busy machine. `GET /` on the port in the file that
 * TURN_METER names answers both in milliseconds and resets them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION = 2;
const file = process.env.TURN_METER;
// Children of the server would measure themselves.
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
  const server = createServer((_request, response) => {
    const { user, system } = process.cpuUsage();
    response.end(JSON.stringify({ longest, processor: (user + system) / 1000 }));
    longest = { clock: 0, processor: 0 };
  });
  server.listen(0, '127.0.0.1', () => writeFileSync(portFile, String(server.address().port)));
  server.unref();
}

/** Milliseconds; those of the processor are the main thread's, to a few. */
function now() {
  const processor = Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  return { clock: performance.now(), processor };
}
