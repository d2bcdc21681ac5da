// Bundles the server: a start loads a dozen files instead of a thousand, which halves the cost of a start.
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { ensurePixels, pixelsFile } from './pixels.mjs';
import { root } from './steps.mjs';

const source = join(root, 'src');
/** The roots of modules; dist/ contains the folders of both side by side. */
const sources = [source, join(root, 'packages')];

/** Modules with a file of their own: the command, and the threads that spawnThread() starts. */
const ENTRIES = [
  'cli/main',
  'cli/child-process',
  'config/json-schema',
  'access/password-thread',
  'app/area-thread',
  'raster/cutter-thread',
  'raster/map-thread',
  'sources/world/drawing-thread',
  'storage/segments/segment-writer-thread',
];

/** Packages that load compiled code, or files relative to their own, stay outside the bundle. */
const EXTERNAL = ['better-sqlite3', 'sharp', '@napi-rs/canvas', 'pino-pretty', 'pg-native'];

/** From Node.js 22.1 on, compiled code is cached on disk for the files that an entry loads. */
const ENTRY_BANNER = "#!/usr/bin/env node\n'use strict';\nrequire('node:module').enableCompileCache?.();";

export async function bundleServer(folder) {
  const bundle = await rolldown({
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(source, `${entry}.ts`)])),
    platform: 'node',
    external: EXTERNAL,
    plugins: [addressesOfModules()],
  });
  try {
    await bundle.write({
      dir: folder,
      format: 'cjs',
      strict: true,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      banner: ({ isEntry }) => (isEntry ? ENTRY_BANNER : ''),
      comments: false,
      dynamicImportInCjs: false,
    });
  } finally {
    await bundle.close();
  }
  chmodSync(join(folder, 'cli', 'main.js'), 0o755);
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  await ensurePixels();
  mkdirSync(join(folder, 'pixels'), { recursive: true });
  copyFileSync(pixelsFile, join(folder, 'pixels', 'pixels.wasm'));
}

/** Makes `import.meta.url` the address of a module as if it were built to a file of its own, not that of its bundle. */
function addressesOfModules() {
  const placeholder = /__addressOfModule\("([^"]+)"\)/g;
  return {
    name: 'addresses-of-modules',
    transform(code, id) {
      const from = sources.find((folder) => id.startsWith(folder + sep));
      if (!from || !code.includes('import.meta.url')) return null;
      const built = relative(from, id).replaceAll(sep, '/').replace(/\.ts$/, '.js');
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
