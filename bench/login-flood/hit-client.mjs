// Asks for one tile over and over on one connection. For each line on standard input, a number of milliseconds, it
// answers with the times of that long, as JSON.
import { Agent, get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const url = process.argv[2];
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function hit() {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    get(url, { agent }, (response) => {
      response.resume().once('end', () => resolve(performance.now() - began));
    }).once('error', reject);
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const times = [];
  for (const until = performance.now() + Number(line); performance.now() < until; await delay(2)) {
    times.push(await hit());
  }
  process.stdout.write(`${JSON.stringify(times)}\n`);
}
