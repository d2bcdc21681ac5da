/** Sends 10,000 changes a minute from a thread of its own until it receives a message; then it posts the times of all answers. */
import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import pg from 'pg';

export const SECRET = 'for the benchmark';
export const CHANGES = 'tile_changes';
const PER_SECOND = 10_000 / 60;
const agent = new Agent({ keepAlive: true, maxSockets: 500 });

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
  readonly cache: string;
}

export function ask(
  method: string,
  url: string,
  body = '',
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const asked = request(url, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        const cache = String(response.headers['x-cache'] ?? '');
        resolve({ status: response.statusCode ?? 0, ms: performance.now() - begun, text, cache });
      });
    });
    asked.on('error', reject).end(body);
  });
}

interface Job {
  readonly type: string;
  readonly phase: string;
  readonly server: string;
  readonly database: string | null;
}

type Send = (box: readonly number[]) => Promise<number>;

async function openSender({ type, phase, server, database }: Job): Promise<Send> {
  if (type === 'webhook') {
    const event: Record<string, string> = phase === 'changes' ? {} : { 'x-event-id': 'the same' };
    return async (box) => {
      const body = JSON.stringify({ bounds: box });
      const signature = createHmac('sha256', SECRET).update(body).digest('hex');
      const signed = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
      const { status, ms } = await ask('POST', `${server}api/v1/changes/hook`, body, { ...signed, ...event });
      if (status !== 202) throw new Error(`a change was answered with ${status}`);
      return ms;
    };
  }
  const client = new pg.Client({ connectionString: database ?? '' });
  await client.connect();
  const table = phase === 'changes' ? CHANGES : `${CHANGES}_control`;
  return async (box) => {
    const begun = performance.now();
    const text = `with row as (insert into ${table} (minx, miny, maxx, maxy) values ($1, $2, $3, $4)) select pg_notify('${table}', '')`;
    await client.query({ name: 'insert', text, values: [...box] });
    return performance.now() - begun;
  };
}

async function sendChanges(job: Job): Promise<void> {
  const send = await openSender(job);
  let stopped = false;
  parentPort?.once('message', () => {
    stopped = true;
  });
  const under: Promise<number>[] = [];
  const begun = performance.now();
  for (; !stopped; await sleep(5)) {
    for (; under.length < ((performance.now() - begun) / 1000) * PER_SECOND; ) {
      const [x, y] = [-10 + Math.random() * 40, 35 + Math.random() * 25];
      under.push(send([x, y, x + 0.01, y + 0.01]));
    }
  }
  parentPort?.postMessage(await Promise.all(under));
  process.exit();
}

if (!isMainThread) await sendChanges(workerData as Job);
