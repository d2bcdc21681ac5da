import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { importCommand } from './import.ts';
import { runCli } from './run-cli.ts';

const CONFIGURATION = `
layers: [{ name: a, title: A, sources: [cache] }]
caches: { cache: { grids: [GLOBAL_MERCATOR], sources: [used] } }
sources:
  used: { type: wms, req: { url: 'http://maps.test/wms', layers: a } }
  unused: { type: wms, req: { url: 'http://maps.test/wms', layers: b } }
`;

it('the report of an import names what was left out entirely', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'mapproxy.yaml'), CONFIGURATION);
  let report = '';
  const err = (text: string) => {
    report += text;
  };
  await runCli(['import', join(folder, 'mapproxy.yaml')], [importCommand], { out: () => {}, err });
  expect(report).toContain('left out  source unused (entirely): no imported layer uses it\n');
});
