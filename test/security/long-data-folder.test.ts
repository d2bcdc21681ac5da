import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startServer } from '../e2e/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { childrenOf } from '../fixtures/processes.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';

/** All sockets with a path, by inode. */
const PATHS = '/proc/net/unix';

/** Paths of sockets that these processes have open. */
function socketPaths(pids: readonly number[]): readonly string[] {
  const rows = readFileSync(PATHS, 'utf8').split('\n');
  const paths = new Map(rows.map((row) => row.split(/ +/)).map((row) => [row[6] ?? '', row[7]]));
  const targets = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)),
  );
  return targets.flatMap((target) => paths.get(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '') ?? []);
}

it.runIf(existsSync(PATHS))(
  'the processes of a server with a long data folder share no socket with a path',
  async () => {
    const data = join(temporaryFolder(), 'd'.repeat(120));
    const server = await startServer({ data, args: ['--processes', '2'], config: 'tasks: { workers: 1 }' });
    const answer = await fetch(`${server.url}/tiles/world/0/0/0.png`);
    expect(answer.status).toBe(200);
    const children = await eventually(
      'its processes',
      () => childrenOf(server.pid),
      ({ length }) => length >= 2,
    );
    expect(socketPaths([server.pid, ...children])).toEqual([]);
    await server.stop();
  },
);
