// Hits while 10,000 changes a minute are accepted, against hits while there are none.
// npm run bench -- changes [processes] [seconds]
// Clock times depend on what else the machine does. The longest turn of the event loop in processor time does not: a hit waits
// for it at most, in the process that accepts changes (and answers hits, with one process).
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const PER_SECOND = 10_000 / 60;
const SECRET = 'for the benchmark';
const SIDE = 8;
const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const METER = new URL('../turns/turn-meter.mjs', import.meta.url).href;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
}

function ask(method: string, url: string, body = '', headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const asked = request(url, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, ms: performance.now() - begun, text }),
      );
    });
    asked.on('error', reject).end(body);
  });
}

const part = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;

function summary(times: number[]) {
  times.sort((a, b) => a - b);
  const shown = (share: number) => part(times, share).toFixed(2);
  return { count: times.length, p50: shown(0.5), p95: shown(0.95), p99: shown(0.99) };
}

async function hits(url: string, seconds: number): Promise<number[]> {
  const times: number[] = [];
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    const at = () => Math.floor(Math.random() * SIDE);
    times.push((await ask('GET', `${url}tiles/world/7/${60 + at()}/${100 + at()}.png`)).ms);
  }
  return times;
}

/** In a thread of its own: signing takes time. */
async function sendChanges(url: string): Promise<void> {
  const times: number[] = [];
  let stopped = false;
  parentPort?.once('message', () => {
    stopped = true;
  });
  const under: Promise<void>[] = [];
  const begun = performance.now();
  for (let sent = 0; !stopped; await sleep(5)) {
    for (; sent < ((performance.now() - begun) / 1000) * PER_SECOND; sent++) {
      const [x, y] = [-10 + Math.random() * 40, 35 + Math.random() * 25];
      const body = JSON.stringify({ bounds: [x, y, x + 0.01, y + 0.01] });
      const signature = createHmac('sha256', SECRET).update(body).digest('hex');
      const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
      under.push(
        ask('POST', `${url}api/v1/changes/hook`, body, headers).then(({ status, ms }) => {
          if (status === 202) times.push(ms);
        }),
      );
    }
  }
  await Promise.all(under);
  parentPort?.postMessage(summary(times));
}

async function measure(processes: string, seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-changes-'));
  const [config, meter] = [join(folder, 'tilewarden.yaml'), join(folder, 'meter')];
  const hook = `changes: [{ name: hook, type: webhook, secret: '${SECRET}', layers: [world] }]`;
  const layer = '{ name: world, source: { type: world }, gridSets: [EPSG:900913, EPSG:4326] }';
  writeFileSync(config, `layers: [${layer}]\n${hook}\n`);
  const flags = ['--config', config, '--data', join(folder, 'data'), '--port', '0', '--no-auth'];
  const server = spawn(
    process.execPath,
    ['--import', METER, MAIN, 'serve', ...flags, '--processes', processes],
    { env: { ...process.env, TURN_METER: meter }, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const url = /http:\S+/.exec(String(line))?.[0] ?? '';
    const turns = async () => {
      const { text } = await ask('GET', `http://127.0.0.1:${readFileSync(meter, 'utf8')}/`);
      return JSON.parse(text) as { longest: { processor: number }; processor: number };
    };
    for (let at = 0; at < SIDE * SIDE; at++)
      await ask('GET', `${url}tiles/world/7/${60 + (at % SIDE)}/${100 + Math.floor(at / SIDE)}.png`);
    await hits(url, 2);
    await turns();
    const idle = summary(await hits(url, seconds));
    const before = await turns();
    const sender = new Worker(new URL(import.meta.url), { workerData: url });
    const busy = summary(await hits(url, seconds));
    sender.postMessage('stop');
    const [accepted] = (await once(sender, 'message')) as [ReturnType<typeof summary>];
    const after = await turns();
    process.stdout.write(
      `${JSON.stringify({
        processes: Number(processes),
        idle: { ...idle, longestTurnMs: before.longest.processor.toFixed(1) },
        withChanges: { ...busy, longestTurnMs: after.longest.processor.toFixed(1) },
        accepted,
        p99Ratio: (Number(busy.p99) / Number(idle.p99)).toFixed(2),
        processorMsPerSecond: ((after.processor - before.processor) / seconds).toFixed(0),
      })}\n`,
    );
  } finally {
    server.kill();
    await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMainThread) await measure(process.argv[2] ?? '1', Number(process.argv[3] ?? 10));
else await sendChanges(workerData as string);
