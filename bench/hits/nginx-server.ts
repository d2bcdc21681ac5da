import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Contestant, childrenOf, programPath } from './measure-hits.ts';

/** As Debian sets it up (sendfile, tcp_nopush), but without a log, which we do not write either, and with one process to our one. */
export async function startNginx(name: string, www: string, folder: string): Promise<Contestant> {
  const program = programPath('nginx') ?? 'nginx';
  const port = await freePort();
  const pidFile = join(folder, 'nginx.pid');
  const configuration = join(folder, 'nginx.conf');
  chmodSync(folder, 0o755);
  writeFileSync(configuration, configurationOf(www, folder, port, pidFile));
  execFileSync(program, ['-c', configuration, '-p', folder]);
  const master = Number(await eventually(() => readFileSync(pidFile, 'utf8').trim()));
  const worker = Number(await eventually(() => `${childrenOf(master)[0] ?? ''}`));
  let running = true;
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    prefix: '/tiles/world',
    pids: () => [worker],
    async stop() {
      if (running) process.kill(master, 'SIGQUIT');
      running = false;
    },
  };
}

function configurationOf(www: string, folder: string, port: number, pidFile: string): string {
  return `
worker_processes 1;
pid ${pidFile};
error_log ${join(folder, 'nginx-error.log')};
events { worker_connections 768; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000;
  types { image/png png; }
  client_body_temp_path ${join(folder, 'nginx-body')};
  server { listen 127.0.0.1:${port}; root ${www}; }
}
`;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** Looks until there is something to see, for two seconds at most. */
export async function eventually(look: () => string): Promise<string> {
  for (let i = 0; i < 100; i++) {
    try {
      const seen = look();
      if (seen !== '') return seen;
    } catch {
      // Not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return look();
}
