// npm start: installs and builds when needed, then serves in this very process, so that signals and the
// exit code are the server's own. Arguments pass through: npm start -- --port 9000 --data ./d
import { root, runCommand } from './steps.mjs';

await runCommand(async () => {
  const { prepareServer } = await import('./build.mjs');
  await prepareServer();
});
const { join } = await import('node:path');
const { pathToFileURL } = await import('node:url');
const main = join(root, 'dist', 'cli', 'main.js');
process.argv = [process.execPath, main, 'serve', ...process.argv.slice(2)];
await import(pathToFileURL(main).href);
