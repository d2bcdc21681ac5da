import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Task } from '../../src/tasks/task.ts';
import type { TaskDraft } from '../../src/tasks/task-draft.ts';
import type { Answer, Call } from './fault-messages.ts';

const TYPESCRIPT = new URL('../../scripts/typescript/register.mjs', import.meta.url).href;
const READY_WITHIN = 20_000;

/** A server process that can be killed. A call that the server does not live to answer rejects. */
export class ServerUnderTest {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (answer: Reply) => void; reject: (error: Error) => void }>();
  readonly #ended: Promise<unknown>;
  #calls = 0;

  private constructor(child: ChildProcess) {
    this.#process = child;
    this.#ended = once(child, 'exit');
    child.on('message', (answer: Answer) => {
      if (answer.type !== 'answer') return;
      this.#waiting.get(answer.id)?.resolve(answer);
      this.#waiting.delete(answer.id);
    });
    child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the server has ended'));
      this.#waiting.clear();
    });
  }

  static async start(folder: string, wmsUrl: string): Promise<ServerUnderTest> {
    const entry = fileURLToPath(new URL('./fault-server.ts', import.meta.url));
    const child = fork(entry, [folder, wmsUrl], {
      execArgv: ['--import', TYPESCRIPT],
      serialization: 'advanced',
    });
    const server = new ServerUnderTest(child);
    const ready = once(child, 'message', { signal: AbortSignal.timeout(READY_WITHIN) });
    const ended = server.#ended.then(() => Promise.reject(new Error('the server did not start')));
    await Promise.race([ready, ended]);
    return server;
  }

  async create(draft: TaskDraft): Promise<Task> {
    const [task] = (await this.#ask({ type: 'create', draft })).tasks;
    if (!task) throw new Error('no task');
    return task;
  }

  async list(): Promise<readonly Task[]> {
    return (await this.#ask({ type: 'list' })).tasks;
  }

  async workerPids(): Promise<readonly number[]> {
    return (await this.#ask({ type: 'workers' })).pids;
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#process.kill(signal);
    await this.#ended;
  }

  #ask(call: Call): Promise<Reply> {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (!this.#process.connected) reject(new Error('the server has ended'));
      else this.#process.send({ ...call, id }, (error) => error && reject(error));
    });
  }
}

type Reply = Extract<Answer, { type: 'answer' }>;
