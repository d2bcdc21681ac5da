import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contestant } from './measure-hits.ts';

/** The least that Node.js can do: the same tiles from memory with these headers, and not a question asked. */
export async function startBareNode(
  name: string,
  www: string,
  headers: readonly string[],
): Promise<Contestant> {
  const server = fork(fileURLToPath(import.meta.url), [www, JSON.stringify(headers)]);
  const [port] = (await once(server, 'message')) as [number];
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    prefix: '/tiles/world',
    pids: () => [server.pid ?? 0],
    async stop() {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    },
  };
}

function serve(www: string, headers: readonly string[]): void {
  const tiles = new Map<string, Buffer>();
  for (const entry of readdirSync(www, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    tiles.set(file.slice(www.length), readFileSync(file));
  }
  const server = createServer((request, response) => {
    const tile = tiles.get(request.url ?? '');
    if (!tile) return response.writeHead(404).end();
    response.writeHead(200, [...headers, 'Content-Length', String(tile.length)]);
    return response.end(tile);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.send?.(typeof address === 'object' ? address?.port : null);
  });
}

const [, script, folder, headers = '[]'] = process.argv;
if (script === fileURLToPath(import.meta.url) && folder !== undefined) serve(folder, JSON.parse(headers));
