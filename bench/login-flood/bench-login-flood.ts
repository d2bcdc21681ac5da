/**
 * What a flood of wrong logins costs others: p99 of hits, and the time until an administrator is let in, with and
 * without it. The best of several windows counts, because what else the machine does comes and goes.
 *
 *   npm run bench:login-flood -- [--windows 4] [--seconds 1.5]
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { askWho, basicOf, openLoginFlood } from '../../test/security/login-flood.ts';
import { percentile } from '../../test/security/raw-request.ts';

const { values } = parseArgs({
  options: { windows: { type: 'string', default: '4' }, seconds: { type: 'string', default: '1.5' } },
});
const PASSWORD = 'a password for tests only';
const AT_ONCE = 20;
/** What is promised: hits at most half as slow again, and an administrator in within two seconds. */
const MOST_SLOWER = 1.5;
const MOST_WAIT_MS = 2000;

execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
const folder = mkdtempSync(`${tmpdir()}/tilewarden-flood-`);
const server = spawn(process.execPath, ['dist/cli/main.js', 'serve', '--port', '0', '--data', folder], {
  env: { ...process.env, TILEWARDEN_ADMIN_PASSWORD: PASSWORD },
  stdio: ['ignore', 'pipe', 'ignore'],
});
try {
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  const url = line.replace(/^.* at /, '').replace(/\/$/, '');
  const measure = openHitClient(`${url}/tiles/world/0/0/0.png`);
  await measure.hits(500);
  let [idle, flooded] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const admitted: number[] = [];
  for (let window = 0; window < Number(values.windows); window++) {
    idle = Math.min(idle, await measure.hits(Number(values.seconds) * 1000));
    const flood = openLoginFlood(url, AT_ONCE);
    const { status, ms } = await askWho(url, basicOf(PASSWORD), `127.0.2.${1 + window}`);
    if (status !== 200) throw new Error(`the administrator was answered ${status}`);
    admitted.push(ms);
    flooded = Math.min(flooded, await measure.hits(Number(values.seconds) * 1000));
    await flood.stop();
  }
  measure.close();
  const slowest = Math.max(...admitted);
  process.stdout.write(
    `hits p99 ${flooded.toFixed(1)} ms in the flood, ${idle.toFixed(1)} ms without; ` +
      `administrator in after at most ${slowest.toFixed(0)} ms\n`,
  );
  process.exitCode = flooded <= MOST_SLOWER * idle && slowest <= MOST_WAIT_MS ? 0 : 1;
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
  rmSync(folder, { recursive: true, force: true });
}

/** Measures in a process of its own: this one is busy flooding. */
function openHitClient(url: string) {
  const program = fileURLToPath(new URL('./hit-client.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, url], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  return {
    async hits(ms: number): Promise<number> {
      child.stdin.write(`${ms}\n`);
      const [line] = (await once(lines, 'line')) as [string];
      return percentile(JSON.parse(line) as number[], 0.99);
    },
    close: () => void child.kill(),
  };
}
