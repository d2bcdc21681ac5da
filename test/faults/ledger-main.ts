import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runLedgerLoop } from './ledger-loop.ts';

/** npm run test:faults:ledger -- [--kills 500] */
const { values } = parseArgs({ options: { kills: { type: 'string', default: '500' } } });
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-ledger-'));
try {
  const report = await runLedgerLoop(folder, Number(values.kills), (line) =>
    process.stderr.write(`${line}\n`),
  );
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  process.exitCode = report.drift + report.resurrected === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
