import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { started } from '../../scripts/steps.mjs';
import { WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { childrenOf } from '../fixtures/processes.ts';

/** A task as the native interface shows it. */
export interface ShownTask {
  readonly id: number;
  readonly type: string;
  readonly state: string;
  readonly reason: string | null;
  readonly endedAt: string | null;
  readonly tilesProcessed: number;
  readonly tilesTotal: number;
  readonly counters: Readonly<Record<'made' | 'present' | 'removed' | 'failed', number>>;
}

export interface SeedRequest {
  readonly type: string;
  readonly coords?: readonly number[];
  readonly zoomStop?: number;
  readonly threadCount: number;
}

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const READY = /^Tilewarden is ready at (http:\/\/\S+)\/$/m;

/** A real server from the build, with its worker processes, that can be killed. */
export class ServerUnderTest {
  readonly #process: ChildProcess;
  readonly #url: string;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess, url: string, ended: Promise<unknown>) {
    this.#process = child;
    this.#url = url;
    this.#ended = ended;
  }

  static async start(data: string, config: string): Promise<ServerUnderTest> {
    const args = [MAIN, 'serve', '--port', '0', '--no-auth', '--log-level', 'error'];
    const child = await started(
      spawn(process.execPath, [...args, '--data', data, '--config', config], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    const ended = once(child, 'exit');
    return new ServerUnderTest(child, await readyUrl(child), ended);
  }

  /** The id of the task, once the server has acknowledged it. */
  async seed(layer: string, { coords, ...request }: SeedRequest): Promise<number> {
    const seedRequest = {
      name: layer,
      ...request,
      ...(coords && { bounds: { coords: { double: coords } } }),
    };
    const answer = await this.#ask(`/rest/seed/${layer}.json`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ seedRequest }),
    });
    return Number(answer.headers.get('x-task-id'));
  }

  async tasks(): Promise<readonly ShownTask[]> {
    const answer = await this.#ask('/api/v1/tasks?limit=1000', {});
    const { tasks } = (await answer.json()) as { tasks: readonly ShownTask[] };
    return tasks;
  }

  workerPids(): readonly number[] {
    return childrenOf(this.#process.pid ?? -1);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#process.kill(signal);
    await this.#ended;
  }

  async #ask(path: string, request: RequestInit): Promise<Response> {
    const answer = await fetch(`${this.#url}${path}`, {
      ...request,
      signal: AbortSignal.timeout(WAIT_TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer;
  }
}

async function readyUrl(child: ChildProcess): Promise<string> {
  const signal = AbortSignal.timeout(WAIT_TIMEOUT_MS);
  let text = '';
  child.stdout?.setEncoding('utf8');
  while (child.stdout) {
    const [chunk] = await Promise.race([
      once(child.stdout, 'data', { signal }),
      once(child, 'exit', { signal }).then(() => Promise.reject(new Error('the server did not start'))),
    ]);
    text += chunk;
    const url = READY.exec(text)?.[1];
    if (url) return url;
  }
  throw new Error('the server says nothing');
}
