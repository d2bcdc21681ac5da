import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const READY = /^Tilewarden is ready at (https?:\/\/\S+)\/$/m;
const READY_WITHIN_MS = 30_000;
const EXIT_WITHIN_MS = 15_000;

/** Of the user `admin` on every server started here. */
export const ADMIN_PASSWORD = 'a password for tests only';
const AUTHORIZATION = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`;

export interface ServerOptions {
  /** Text of the configuration file; none when left out. */
  readonly config?: string;
  /** An existing data folder; a fresh one, removed after the test, when left out. */
  readonly data?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Warnings and errors that belong to the test; any other fails it. */
  readonly expectedLog?: RegExp;
}

export interface FinishedProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningServer {
  /** Without a slash at its end, e.g. `http://127.0.0.1:40123`. */
  readonly url: string;
  readonly data: string;
  /** The administrator's `Authorization` header. */
  readonly authorization: string;
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** SIGTERM, and waits for the end; fails the test when the log holds what it should not. */
  stop(): Promise<FinishedProcess>;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<FinishedProcess>;
}

/** A real server process from the build, ended at the latest when the test is over. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const data = options.data ?? temporaryFolder();
  const config = options.config === undefined ? [] : ['--config', writeConfig(options.config)];
  const child = launch(
    ['serve', '--port', '0', '--data', data, ...config, ...(options.args ?? [])],
    options.env,
  );
  const finished = watch(child.process, child.output);
  endWithTest(child.process, finished);
  const url = await readyUrl(child.process, child.output);
  return {
    url,
    data,
    authorization: AUTHORIZATION,
    pid: child.process.pid ?? -1,
    stdout: () => child.output.stdout,
    stderr: () => child.output.stderr,
    async stop() {
      child.process.kill('SIGTERM');
      const end = await within(finished, EXIT_WITHIN_MS, 'The server did not stop');
      expectCleanLog(end.stderr, options.expectedLog);
      return end;
    },
    kill() {
      child.process.kill('SIGKILL');
      return finished;
    },
  };
}

/** Runs a command to its end, e.g. runTilewarden(['check-config']). */
export async function runTilewarden(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<FinishedProcess> {
  const child = launch(args, options.env, options.cwd);
  const finished = watch(child.process, child.output);
  endWithTest(child.process, finished);
  return within(finished, READY_WITHIN_MS, `tilewarden ${args.join(' ')} did not end`);
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-e2e-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export function writeConfig(yaml: string): string {
  const file = join(temporaryFolder(), 'tilewarden.yaml');
  writeFileSync(file, yaml);
  return file;
}

/** Looks again and again until the condition holds; fails when it does not in time. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}`);
    await delay(20);
  }
}

export function expectCleanLog(stderr: string, expected?: RegExp): void {
  const complaints = stderr
    .split('\n')
    .filter((line) => line !== '' && !/^\{"level":(10|20|30),/.test(line))
    .filter((line) => !expected?.test(line));
  expect(complaints).toEqual([]);
}

function endWithTest(child: ChildProcess, finished: Promise<FinishedProcess>): void {
  whenOver(() => {
    child.kill('SIGKILL');
    return finished;
  });
}

/** After the test; for what a hook has started for many tests, when the test process ends. */
function whenOver(clean: () => unknown): void {
  try {
    onTestFinished(async () => void (await clean()));
  } catch {
    process.once('exit', clean);
  }
}

interface Output {
  stdout: string;
  stderr: string;
}

function launch(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = temporaryFolder(),
) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TILEWARDEN_'));
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...Object.fromEntries(inherited), TILEWARDEN_ADMIN_PASSWORD: ADMIN_PASSWORD, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: Output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return { process: child, output };
}

async function watch(child: ChildProcess, output: Output): Promise<FinishedProcess> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, ...output };
}

async function readyUrl(child: ChildProcess, output: Output): Promise<string> {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const isReady = () => READY.test(output.stdout);
  await eventually('the server is ready or has ended', () => hasEnded() || isReady(), READY_WITHIN_MS);
  const url = READY.exec(output.stdout)?.[1];
  if (url === undefined) throw new Error(`The server did not start:\n${output.stderr}`);
  return url;
}

async function within<T>(promise: Promise<T>, ms: number, complaint: string): Promise<T> {
  const timeout = new AbortController();
  const expired = delay(ms, null, { signal: timeout.signal }).then(() =>
    Promise.reject(new Error(complaint)),
  );
  expired.catch(() => undefined);
  try {
    return (await Promise.race([promise, expired])) as T;
  } finally {
    timeout.abort();
  }
}
