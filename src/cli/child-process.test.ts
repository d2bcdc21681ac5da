import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { started } from '../../scripts/started.mjs';
import { temporaryFolder } from '../../test/e2e/server.ts';
import { loadSettings } from '../config/load-settings.ts';

const FILE = fileURLToPath(new URL('../../dist/cli/child-process.js', import.meta.url));

it.each(['task-process', 'http-process'])(
  'a %s that cannot start says why in the log, and ends',
  async (kind) => {
    const workingFolder = temporaryFolder();
    const data = join(workingFolder, 'gone');
    const { handover } = loadSettings({ flags: { data }, environment: {}, workingFolder });
    const child = await started(fork(FILE, [kind], { stdio: ['pipe', 'ignore', 'pipe', 'ipc'] }));
    const ended = once(child, 'exit');
    const { stdin, stderr } = child;
    if (!stdin || !stderr) throw new Error('it has no pipes');
    stdin.end(JSON.stringify(handover));
    const lines = (await text(stderr)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 50, err: { code: 'ENOENT' }, msg: 'unexpected failure; the process exits' },
    ]);
    expect(await ended).toEqual([1, null]);
  },
);
