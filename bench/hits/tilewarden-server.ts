import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Contestant, childrenOf } from './measure-hits.ts';

/** The built server with its built-in map. `memoryTier` 0: every hit comes from the store. */
export async function startTilewarden(
  name: string,
  data: string,
  memoryTier: string,
  processes = 1,
): Promise<Contestant> {
  mkdirSync(data, { recursive: true });
  const configuration = join(data, '..', 'tilewarden.yaml');
  writeFileSync(configuration, `memoryTier: { size: ${memoryTier} }\nlog: { level: warn }\n`);
  const server = spawn(
    process.execPath,
    [
      'dist/cli/main.js',
      'serve',
      '--port',
      '0',
      '--data',
      data,
      '--config',
      configuration,
      '--processes',
      String(processes),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /ready at (\S+)\/$/.exec(line)?.[1];
    if (url === undefined) continue;
    const pid = server.pid ?? 0;
    const pids = () => [pid, ...childrenOf(pid)];
    return { name, url, prefix: '/tiles/world', pids, stop };
  }
  throw new Error('The server did not start.');

  async function stop(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
  }
}
