import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServerProcess {
  /** Without a slash at its end. */
  readonly url: string;
  /** Milliseconds from its start to the line that says it is ready. */
  readonly readyAfter: number;
  stop(): Promise<void>;
}

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** The server from its sources, without accounts, on a free port. */
export async function startServerProcess(data: string, configuration: string): Promise<ServerProcess> {
  const file = join(data, '..', 'tilewarden.yaml');
  writeFileSync(file, configuration);
  const loader = ['--import', './scripts/typescript/register.mjs'];
  const flags = ['--no-auth', '--port', '0', '--data', data, '--config', file];
  const begun = performance.now();
  const server = spawn(process.execPath, [...loader, 'src/cli/main.ts', 'serve', ...flags], {
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /ready at (\S+)\/$/.exec(line)?.[1];
    if (url === undefined) continue;
    return { url, readyAfter: performance.now() - begun, stop: () => stop(server) };
  }
  throw new Error('The server did not start.');
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}
