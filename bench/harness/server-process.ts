import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServerProcess {
  /** Without a slash at its end. */
  readonly url: string;
  readonly pid: number;
  /** Milliseconds from its start to the line that says it is ready. */
  readonly readyAfter: number;
  stop(): Promise<void>;
  /** As a crash would end it. */
  kill(): Promise<void>;
}

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
export const FROM_BUILD = ['dist/cli/main.js'];

/** The server on a free port, without accounts unless `options` are others. */
export async function startServerProcess(
  data: string,
  configuration: string,
  program: readonly string[] = FROM_BUILD,
  options: readonly string[] = ['--no-auth'],
): Promise<ServerProcess> {
  const file = join(data, '..', 'tilewarden.yaml');
  mkdirSync(data, { recursive: true });
  writeFileSync(file, configuration);
  const flags = [...options, '--port', '0', '--data', data, '--config', file];
  const begun = performance.now();
  const server = spawn(process.execPath, [...program, 'serve', ...flags], {
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const endWithUs = () => void server.kill('SIGKILL');
  process.once('exit', endWithUs);
  server.once('exit', () => process.off('exit', endWithUs));
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /ready at (\S+)\/$/.exec(line)?.[1];
    if (url === undefined) continue;
    const readyAfter = performance.now() - begun;
    const end = (signal: NodeJS.Signals) => stop(server, signal);
    return {
      url,
      pid: server.pid ?? 0,
      readyAfter,
      stop: () => end('SIGTERM'),
      kill: () => end('SIGKILL'),
    };
  }
  throw new Error('The server did not start.');
}

async function stop(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill(signal);
  await ended;
}
