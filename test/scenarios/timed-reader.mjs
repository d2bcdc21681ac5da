// Requests cached tiles, one after the other, from a separate process. For each line on standard input, a number of
// milliseconds, it answers with what it got in that long, as JSON: [status, milliseconds] each.
import { Agent, get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const urls = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function timedGet(url) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    get(url, { agent }, (response) => {
      response.resume().once('end', () => resolve([response.statusCode, performance.now() - begun]));
    }).once('error', reject);
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const seen = [];
  for (const until = performance.now() + Number(line); performance.now() < until; await delay(5)) {
    seen.push(await timedGet(urls[seen.length % urls.length]));
  }
  process.stdout.write(`${JSON.stringify(seen)}\n`);
}
