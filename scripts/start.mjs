// npm start: installs and builds when needed, then serves in this process, so that signals reach the server and its exit
// code is the command's. Arguments are passed on: npm start -- --port 9000 --data ./d
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
