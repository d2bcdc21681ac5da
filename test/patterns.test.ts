import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { whenOver } from './fixtures/when-over.ts';

it.each([
  ['refuses a nested repeat', '/^(a+)+$/', true],
  ['refuses adjacent repeats of the same characters', String.raw`/\s*\s*=/`, true],
  ['refuses a search that begins again at each quotation mark', String.raw`/"(?:[^"\\]|\\.)*"/g`, true],
  ['refuses an expression that is made while running', 'new RegExp(name)', true],
  ['accepts one repeat from the start', String.raw`/^\d+$/`, false],
])('the check of regular expressions %s: %s', (_, expression, isRefused) => {
  const folder = mkdtempSync(join(tmpdir(), 'patterns-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'scan.ts');
  writeFileSync(file, `const text: unknown = 1;\nexport const found = ${expression};\n`);
  const { status, stderr, stdout } = spawnSync(process.execPath, ['scripts/patterns.mjs', file]);
  expect([status, `${stderr}${stdout}`.includes('scan.ts:2:')]).toEqual(isRefused ? [1, true] : [0, false]);
});
