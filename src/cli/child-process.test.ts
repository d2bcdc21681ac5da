import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { FROM_SOURCES } from '../../test/fixtures/processes.ts';
import { temporaryFolder } from '../../test/fixtures/when-over.ts';
import { loadSettings } from '../config/load-settings.ts';

const FILE = fileURLToPath(new URL('../../dist/cli/child-process.js', import.meta.url));

it.each(['work-process', 'server-process'])(
  'a %s that cannot start says why in the log, and ends',
  async (kind) => {
    const workingFolder = temporaryFolder();
    const data = join(workingFolder, 'gone');
    const { handover } = await loadSettings({ flags: { data }, environment: {}, workingFolder });
    const child = await started(fork(FILE, [kind], { stdio: ['pipe', 'ignore', 'pipe', 'ipc'] }));
    const ended = once(child, 'exit');
    const { stdin, stderr } = child;
    if (!stdin || !stderr) throw new Error('it has no pipes');
    const start = {
      handover,
      adminPassword: null,
      configFile: null,
      port: 0,
      first: true,
      flags: {},
      startedIn: data,
    };
    stdin.end(serialize(start));
    const lines = (await text(stderr)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 50, err: { code: 'ENOENT' }, msg: 'unexpected failure; the process exits' },
    ]);
    expect(await ended).toEqual([1, null]);
  },
);

it.each(['startWorkProcess', 'startServerProcess'])(
  'a process that %s cannot start does not end the server',
  async (start) => {
    const workingFolder = temporaryFolder();
    const { handover } = await loadSettings({ flags: {}, environment: {}, workingFolder });
    const program = `
      import { ${start} } from '${new URL('./child-processes.ts', import.meta.url)}';
      process.execPath = '/missing/node';
      const child = ${start}(${JSON.stringify(handover)}, 0);
      child.on('error', ({ code }) => process.stdout.write(code));`;
    const args = [...FROM_SOURCES, '--input-type=module', '-e', program];
    const server = await started(spawn(process.execPath, args));
    const ended = once(server, 'close');
    const [stdout, stderr] = await Promise.all([text(server.stdout), text(server.stderr)]);
    expect([stdout, stderr, ...(await ended)]).toEqual(['ENOENT', '', 0, null]);
  },
);
