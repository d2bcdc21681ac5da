import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { inLength } from '../../../test/fixtures/length.ts';
import { needs } from '../../../test/fixtures/needs.ts';
import { FROM_SOURCES } from '../../../test/fixtures/processes.ts';

const script = fileURLToPath(new URL('../../../test/fixtures/full-disk-process.ts', import.meta.url));

it(
  'a store shows right tiles, and goes on when there is room, whichever write fills a small disk',
  needs('namespaces'),
  async () => {
    const disk = mkdtempSync(join(tmpdir(), 'full-disk-'));
    onTestFinished(() => rmSync(disk, { recursive: true, force: true }));
    const mount = 'mount -t tmpfs -o size=8m tmpfs "$1" && shift && exec "$@"';
    const node = [process.execPath, ...FROM_SOURCES, script, disk, `${inLength(16_384, 1024)}`];
    const { stdout } = await promisify(execFile)('unshare', ['-Urm', 'sh', '-c', mount, 'sh', disk, ...node]);
    const [histories = 0, failures = 0] = (stdout.match(/\d+/g) ?? []).map(Number);
    expect(histories).toBeGreaterThan(5);
    expect(failures).toBeGreaterThan(histories);
  },
);
