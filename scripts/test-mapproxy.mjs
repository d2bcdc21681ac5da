/**
 * npm run test:mapproxy -- CHECKOUT: imports configurations from a checkout of MapProxy's sources, and compares the maps of
 * Debian's MapProxy with ours, pixel by pixel. Takes about three minutes.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { endWithNpm, runCommand, say } from './steps.mjs';
import { report, runTests } from './test.mjs';

endWithNpm();
const [checkout = '', ...chosen] = process.argv.slice(2);
if (!existsSync(resolve(checkout, 'mapproxy/test/system/fixture'))) {
  say('Name a checkout of MapProxy: npm run test:mapproxy -- ../mapproxy');
  process.exit(1);
}
await runCommand(async () => {
  await ensureInstalled();
  await ensureBuilt();
  const env = { TEST_MAPPROXY: resolve(checkout) };
  report(await runTests('mapproxy', ['test/peers/', ...chosen], env), { requireAll: true });
});
