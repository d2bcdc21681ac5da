// Bundles the server: a start loads a dozen files instead of a thousand, which halves what starting costs.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { ensurePixels, pixelsFile } from './pixels.mjs';
import { root } from './steps.mjs';

const source = join(root, 'src');

/** What is started by its own file: the command, and the threads that spawnThread() starts. */
const ENTRIES = [
  'cli/main',
  'config/json-schema',
  'access/password-thread',
  'raster/cutter-thread',
  'raster/map-thread',
  'sources/world/drawing-thread',
  'storage/bundle/bundle-writer-thread',
];

/** Packages that load compiled code, or files of their own by where they lie. */
const LEFT_AS_PACKAGES = ['better-sqlite3', 'sharp', '@napi-rs/canvas', 'pino', 'pino-pretty', 'pg-native'];

export async function bundleServer(folder) {
  const bundle = await rolldown({
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(source, `${entry}.ts`)])),
    platform: 'node',
    external: LEFT_AS_PACKAGES,
    plugins: [addressesOfModules(), partOfUndici(), plainCharacters()],
  });
  try {
    await bundle.write({
      dir: folder,
      format: 'cjs',
      strict: true,
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name]-[hash].cjs',
      comments: false,
      // As load.cjs wants it.
      dynamicImportInCjs: false,
      postBanner: '(function (exports, require, module, __filename, __dirname) {',
      postFooter: '})',
    });
  } finally {
    await bundle.close();
  }
  writeEntries(folder);
  await ensurePixels();
  mkdirSync(join(folder, 'raster'), { recursive: true });
  copyFileSync(pixelsFile, join(folder, 'raster', 'pixels.wasm'));
}

/** What is started is a line that has the rest loaded; see docs/decisions/0320. */
function writeEntries(folder) {
  copyFileSync(join(root, 'scripts', 'compiled', 'load.cjs'), join(folder, 'load.cjs'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  for (const entry of ENTRIES) {
    const loader = posix.relative(dirname(entry), 'load.cjs');
    writeFileSync(join(folder, `${entry}.js`), `#!/usr/bin/env node\nrequire('${loader}').enter(module);\n`);
  }
}

/** One character beyond ASCII makes Node.js keep a whole file in two bytes a character, and read it more slowly. */
function plainCharacters() {
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'plain-characters',
    renderChunk: (code) => ({ code: code.replace(/[\u0080-\uffff]/g, escaped) }),
  };
}

const PART_OF_UNDICI = `
  import request from './lib/api/api-request.js';
  import Agent from './lib/dispatcher/agent.js';
  import Dispatcher from './lib/dispatcher/dispatcher.js';
  import Pool from './lib/dispatcher/pool.js';
  Dispatcher.prototype.request = request;
  export { Agent, Pool };
`;

/** Of undici the server uses pool and agent, over HTTP/1: the whole of it costs a start ten times as much. */
function partOfUndici() {
  const index = createRequire(import.meta.url).resolve('undici');
  const http2 = join(dirname(index), 'lib', 'dispatcher', 'client-h2.js');
  return {
    name: 'part-of-undici',
    load(id) {
      if (id === index) return PART_OF_UNDICI;
      return id === http2 ? 'export default null;' : null;
    },
  };
}

/** Lets `import.meta.url` of a module be what it would be were it built alone, whichever file it ended up in. */
function addressesOfModules() {
  const placeholder = /__addressOfModule\("([^"]+)"\)/g;
  return {
    name: 'addresses-of-modules',
    transform(code, id) {
      if (!id.startsWith(source + sep) || !code.includes('import.meta.url')) return null;
      const built = relative(source, id).replaceAll(sep, '/').replace(/\.ts$/, '.js');
      return { code: code.replaceAll('import.meta.url', `__addressOfModule(${JSON.stringify(built)})`) };
    },
    renderChunk(code, chunk) {
      if (!placeholder.test(code)) return null;
      const here = dirname(chunk.fileName);
      const address = (_, built) =>
        `new URL('./${posix.relative(here, built)}', require('node:url').pathToFileURL(__filename)).href`;
      return { code: code.replace(placeholder, address) };
    },
  };
}
