// Requests tiles that are not cached, all concurrently, from a separate process of low priority. For each line on
// standard input, `first count`, it answers as JSON with [status, Retry-After, milliseconds] for each column of a row.
import { Agent, get } from 'node:http';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';

const [row] = process.argv.slice(2);
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
setPriority(10);

function ask(column) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    get(`${row}${column}/0.png`, { agent }, (response) => {
      const { statusCode, headers } = response;
      const seen = () => [statusCode, headers['retry-after'] ?? null, performance.now() - begun];
      response.resume().once('end', () => resolve(seen()));
    }).once('error', reject);
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const [first, count] = line.split(' ').map(Number);
  const seen = await Promise.all(Array.from({ length: count }, (_, i) => ask(first + i)));
  process.stdout.write(`${JSON.stringify(seen)}\n`);
}
