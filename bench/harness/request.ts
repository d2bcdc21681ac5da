import { setTimeout as delay } from 'node:timers/promises';

/** Sends an object as JSON and a text as XML; an error status is an exception. */
export async function request(
  url: string,
  body?: object | string,
  { method = body === undefined ? 'GET' : 'POST', headers = {} }: RequestInit = {},
): Promise<Response> {
  const isText = typeof body === 'string';
  const content = body !== undefined && {
    headers: { 'content-type': isText ? 'text/xml' : 'application/json', ...headers },
    body: isText ? body : JSON.stringify(body),
  };
  const response = await fetch(url, { method, headers, ...content });
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  return response;
}

export async function readJson<Document>(...call: Parameters<typeof request>): Promise<Document> {
  return (await (await request(...call)).json()) as Document;
}

export interface Usage {
  readonly bytes: number;
  readonly tiles: number;
  readonly sweeping: number;
  readonly evicted: { readonly bytes: number; readonly pages: number };
  readonly layers: readonly { readonly name: string }[];
}

export const readUsage = (server: string) => readJson<Usage>(`${server}/api/v1/usage`);

/** Milliseconds until the layer is empty for all clients. */
export async function truncateLayer(server: string, layer: string): Promise<number> {
  const start = performance.now();
  await request(`${server}/masstruncate`, `<truncateLayer><layerName>${layer}</layerName></truncateLayer>`);
  return performance.now() - start;
}

/** Starts a task by GeoWebCache's interface; returns its id. */
export async function startTask(server: string, layer: string, seedRequest: object): Promise<number> {
  const response = await request(`${server}/rest/seed/${layer}.json`, { seedRequest });
  return Number(response.headers.get('x-task-id'));
}

export async function stopTasks(server: string): Promise<void> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  await request(`${server}/rest/seed`, 'kill_all=all', { headers });
}

/** Resolves to the end of the task, in milliseconds since 1970. Polls seldom: each poll is work for the server. */
export async function untilDone(server: string, task: number, pollMs = 200): Promise<number> {
  for (;;) {
    const { state, endedAt, reason } = await readJson<Record<'state' | 'endedAt' | 'reason', string>>(
      `${server}/api/v1/tasks/${task}`,
    );
    if (state === 'done') return Date.parse(endedAt);
    if (state === 'aborted') throw new Error(`task ${task} was aborted: ${reason}`);
    await delay(pollMs);
  }
}
