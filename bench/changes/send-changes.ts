// A thread: sends 10,000 changes a minute until it receives a message; then it posts the times of all responses.
import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import pg from 'pg';
import { Pool } from 'undici';

export const SECRET = 'for the benchmark';
export const CHANGES = 'tile_changes';
const PER_SECOND = 10_000 / 60;

export interface Addresses {
  readonly server: string;
  /** Null of a webhook. */
  readonly database: string | null;
}

interface Job extends Addresses {
  readonly phase: string;
}

/** Inserts a row with these coordinates and notifies the server. */
export function insertRow(table: string, values: string): string {
  return `with row as (insert into ${table} (minx, miny, maxx, maxy) values (${values})) select pg_notify('${table}', '')`;
}

type Send = (bounds: readonly number[]) => Promise<unknown>;

async function openSender({ phase, server, database }: Job): Promise<Send> {
  const isControl = phase === 'control';
  if (database === null) {
    const event: Record<string, string> = isControl ? { 'x-event-id': 'the same' } : {};
    // Not by fetch, which sends a body after its head: under load the second part is late.
    const pool = new Pool(server, { connections: 500 });
    return async (bounds) => {
      const body = JSON.stringify({ bounds });
      const signature = createHmac('sha256', SECRET).update(body).digest('hex');
      const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
      const response = await pool.request({
        method: 'POST',
        path: '/api/v1/changes/hook',
        headers: { ...headers, ...event },
        body,
      });
      const text = await response.body.text();
      if (response.statusCode !== 202) throw new Error(`a change was rejected: ${text}`);
    };
  }
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const text = insertRow(isControl ? `${CHANGES}_control` : CHANGES, '$1, $2, $3, $4');
  return (bounds) => client.query({ name: 'insert', text, values: [...bounds] });
}

async function sendChanges(job: Job): Promise<void> {
  const send = await openSender(job);
  let isStopped = false;
  parentPort?.once('message', () => {
    isStopped = true;
  });
  const times: Promise<number>[] = [];
  const start = performance.now();
  for (; !isStopped; await delay(5)) {
    while (times.length < ((performance.now() - start) / 1000) * PER_SECOND) {
      const [x, y] = [-10 + Math.random() * 40, 35 + Math.random() * 25];
      const begin = performance.now();
      times.push(send([x, y, x + 0.01, y + 0.01]).then(() => performance.now() - begin));
    }
  }
  parentPort?.postMessage(await Promise.all(times));
  process.exit();
}

if (!isMainThread) await sendChanges(workerData as Job);
