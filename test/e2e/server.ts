import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { COMMANDS } from '../../src/cli/commands.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { eventually, soon } from '../fixtures/eventually.ts';
import { firstData } from '../fixtures/shared-services.ts';
import { ADMIN_PASSWORD, CHEAP_PASSWORDS } from '../fixtures/shared-services-host.ts';
import { keepLog, temporaryFolder, whenFileOver, whenOver } from '../fixtures/when-over.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const READY = /^Tilewarden is ready at (https?:\/\/\S+)\/$/m;

const BY_PASSWORD = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`;
/** By data folder, where it is not the password. */
const authorizations = new Map<string, string>();

export interface ServerOptions {
  /** Text of the configuration file; none when left out. */
  readonly config?: string;
  /** An existing data folder; a fresh one, removed after the test, when left out. */
  readonly data?: string;
  readonly args?: readonly string[];
  /** The program; that of the build when left out. */
  readonly main?: string;
  /** The folder it is started in; an empty one when left out. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Warnings and errors that belong to the test; any other fails it. */
  readonly expectedLog?: RegExp;
  /** Keeps running for the tests that follow. */
  readonly outlivesTest?: true;
}

export interface FinishedProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningServer extends RunningNode {
  /** Without a slash at its end, e.g. `http://127.0.0.1:40123`. */
  readonly url: string;
  /** The administrator's `Authorization` header. */
  readonly authorization: string;
}

export interface RunningNode {
  readonly data: string;
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** SIGTERM, and waits for the end; fails the test when the log has unexpected lines. */
  stop(): Promise<FinishedProcess>;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<FinishedProcess>;
}

/** A real server process from the build, ended at the latest when the test is over. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const { child, ...running } = await startNode('serve', READY, options);
  const url = READY.exec(child.output.stdout)?.[1] ?? '';
  return { ...running, url, authorization: authorizationFor(running.data) };
}

/** The administrator's `Authorization` header of a server on this data folder. */
export function authorizationFor(data: string): string {
  return authorizations.get(data) ?? BY_PASSWORD;
}

/** A real worker process from the build, without HTTP. */
export async function startWorker(options: ServerOptions = {}): Promise<RunningNode> {
  const { child, ...running } = await startNode('worker', /^Tilewarden worker \S+ is ready$/m, options);
  return running;
}

async function startNode(command: 'serve' | 'worker', ready: RegExp, options: ServerOptions) {
  const data = options.data ?? (await freshData(options));
  const config = options.config === undefined ? [] : ['--config', writeConfig(options.config)];
  const port = command === 'serve' ? ['--port', '0'] : [];
  const args = [command, ...port, '--data', data, ...config, ...(options.args ?? [])];
  const child = await launch(args, options);
  const finished = watch(child.process, child.output);
  endWithTest(child, finished, options);
  await untilReady(child.process, child.output, ready);
  return {
    child,
    data,
    pid: child.process.pid ?? -1,
    stdout: () => child.output.stdout,
    stderr: () => child.output.stderr,
    async stop(): Promise<FinishedProcess> {
      child.process.kill('SIGTERM');
      const end = await soon('the server stops', finished, () => child.output.stderr);
      expectCleanLog(end.stderr, options.expectedLog);
      return end;
    },
    kill(): Promise<FinishedProcess> {
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
  const child = await launch(args, options);
  const finished = watch(child.process, child.output);
  endWithTest(child, finished);
  return soon(`tilewarden ${args.join(' ')} ends`, finished, () => child.output.stdout + child.output.stderr);
}

/**
 * The same in this process: a process of its own takes longer to start than to work. For commands
 * that neither serve nor wait for signals.
 *
 *   const { code, stdout, stderr } = await runCommand(['seed', 'roads'], { TILEWARDEN_SERVER: server.url });
 */
export async function runCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const out = (text: string) => void stdout.push(text);
  const err = (text: string) => void stderr.push(text);
  const code = await runCli(args, COMMANDS, { out, err, columns: null });
  vi.unstubAllEnvs();
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** Empty if accounts are stored elsewhere or the password is another one; otherwise with the administrator. */
export async function freshData({ config = '', env = {}, args = [] }: ServerOptions): Promise<string> {
  const data = temporaryFolder();
  if ('TILEWARDEN_ADMIN_PASSWORD' in env || /postgres/.test([config, ...args].join())) return data;
  const { folder, token } = await firstData();
  cpSync(folder, data, { recursive: true });
  authorizations.set(data, `Bearer ${token}`);
  return data;
}

export function writeConfig(yaml: string): string {
  const file = join(temporaryFolder(), 'tilewarden.yaml');
  writeFileSync(file, yaml);
  return file;
}

/** What a starved machine causes, not a fault. */
const OF_LOAD = /The database has not answered within \d+ ms|did not stop in time/;

export function expectCleanLog(stderr: string, expected?: RegExp): void {
  const complaints = stderr
    .split('\n')
    .filter((line) => line !== '' && !/^\{"level":(10|20|30),/.test(line))
    .filter((line) => !OF_LOAD.test(line) && !expected?.test(line));
  expect(complaints).toEqual([]);
}

function endWithTest(
  { process: child, output }: Launched,
  finished: Promise<FinishedProcess>,
  { outlivesTest }: Pick<ServerOptions, 'outlivesTest'> = {},
): void {
  const log = keepLog(`process-${child.pid}`, () => output.stdout + output.stderr);
  const end = outlivesTest ? whenFileOver : whenOver;
  end(async () => {
    child.kill('SIGKILL');
    await finished;
    log.forget();
  });
}

export { ADMIN_PASSWORD };

interface Launched {
  readonly process: ChildProcess;
  readonly output: Output;
}

interface Output {
  stdout: string;
  stderr: string;
}

async function launch(
  args: readonly string[],
  { main = MAIN, env, cwd = temporaryFolder() }: Pick<ServerOptions, 'main' | 'env' | 'cwd'>,
): Promise<Launched> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TILEWARDEN_'));
  const all = {
    ...Object.fromEntries(inherited),
    ...CHEAP_PASSWORDS,
    TILEWARDEN_ADMIN_PASSWORD: ADMIN_PASSWORD,
    ...env,
  };
  const child = await started(
    spawn(process.execPath, [main, ...args], { cwd, env: all, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
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

async function untilReady(child: ChildProcess, output: Output, ready: RegExp): Promise<void> {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await eventually(
    'the server is ready or has ended',
    () => `${output.stdout}${output.stderr}`,
    () => hasEnded() || ready.test(output.stdout),
  );
  if (!ready.test(output.stdout)) throw new Error(`The server did not start:\n${output.stderr}`);
}
