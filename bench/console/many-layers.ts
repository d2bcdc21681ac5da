import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export interface ManyLayers {
  /** Without a slash at its end. */
  readonly url: string;
  readonly pid: number;
  readonly password: string;
  readonly authorization: string;
  /** Small ones, which are over soon. */
  createTasks(count: number): Promise<void>;
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const PASSWORD = 'a password for benches only';
const READY = /Tilewarden is ready at (\S+)\//;

/** A server of the build with that many layers, on a data folder of its own. */
export async function openManyLayers(count: number): Promise<ManyLayers> {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-console-'));
  const config = join(folder, 'tilewarden.yaml');
  const layers = Array.from({ length: count }, (_, number) => ({
    name: `layer-${number}`,
    title: `Layer number ${number}`,
    source: { type: 'world' },
    formats: ['image/png'],
    gridSets: ['EPSG:900913', 'EPSG:4326'],
  }));
  writeFileSync(config, JSON.stringify({ layers }));
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--port', '0', '--data', join(folder, 'data'), '--config', config],
    {
      env: { ...process.env, TILEWARDEN_ADMIN_PASSWORD: PASSWORD },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const url = await readyUrl(child.stdout);
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
  return {
    url,
    pid: child.pid ?? 0,
    password: PASSWORD,
    authorization,
    async createTasks(tasks) {
      for (let number = 0; number < tasks; number++) {
        const answer = await fetch(`${url}/api/v1/tasks`, {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json' },
          body: JSON.stringify({ layer: `layer-${number}`, type: 'truncate', zoomStop: 1 }),
        });
        if (answer.status !== 201) throw new Error(await answer.text());
      }
      while (await anyActive(url, authorization)) await delay(500);
    },
    async close() {
      child.kill('SIGTERM');
      await once(child, 'close');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function anyActive(url: string, authorization: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/v1/tasks?state=pending,running&limit=1`, {
    headers: { authorization },
  });
  const { tasks } = (await answer.json()) as { readonly tasks: readonly unknown[] };
  return tasks.length > 0;
}

async function readyUrl(output: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of output) {
    text += String(chunk);
    const url = READY.exec(text)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('The server did not start.');
}
