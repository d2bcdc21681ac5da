import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../harness/report.ts';
import { FROM_BUILD, startServerProcess } from '../harness/server-process.ts';

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

const PASSWORD = 'a password for benches only';

/** A server of the build with that many layers, on a data folder of its own. */
export async function openManyLayers(count: number): Promise<ManyLayers> {
  const layers = Array.from({ length: count }, (_, number) => ({
    name: `layer-${number}`,
    title: `Layer number ${number}`,
    source: { type: 'world' },
    formats: ['image/png'],
    gridSets: ['EPSG:900913', 'EPSG:4326'],
  }));
  process.env.TILEWARDEN_ADMIN_PASSWORD = PASSWORD;
  const data = join(temporaryFolder(), 'data');
  const { url, pid, stop } = await startServerProcess(data, JSON.stringify({ layers }), FROM_BUILD, []);
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
  return {
    url,
    pid,
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
    close: stop,
  };
}

async function anyActive(url: string, authorization: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/v1/tasks?state=pending,running&limit=1`, {
    headers: { authorization },
  });
  const { tasks } = (await answer.json()) as { readonly tasks: readonly unknown[] };
  return tasks.length > 0;
}
