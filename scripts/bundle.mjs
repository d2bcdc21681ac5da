// Bundles the server: a start loads a dozen files instead of a thousand, which halves the cost of a start.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { ensurePixels, pixelsFile } from './pixels.mjs';
import { root } from './steps.mjs';

const source = join(root, 'src');
/** The roots of modules; dist/ has the folders of both side by side. */
const sources = [source, join(root, 'packages')];

/** Modules with a file of their own: the command, and the threads that spawnThread() starts. */
const ENTRIES = [
  'cli/main',
  'cli/child-process',
  'config/json-schema',
  'access/password-thread',
  'raster/cutter-thread',
  'raster/map-thread',
  'sources/world/drawing-thread',
  'storage/segments/segment-writer-thread',
];

/** Packages that load compiled code, or files relative to their own. */
const EXTERNAL = ['better-sqlite3', 'sharp', '@napi-rs/canvas', 'pino-pretty', 'pg-native'];

export async function bundleServer(folder) {
  const bundle = await rolldown({
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(source, `${entry}.ts`)])),
    platform: 'node',
    external: EXTERNAL,
    plugins: [addressesOfModules(), partOfUndici()],
  });
  try {
    const { output } = await bundle.generate({
      format: 'cjs',
      strict: true,
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name]-[hash].cjs',
      comments: false,
      dynamicImportInCjs: false,
    });
    for (const { fileName, code } of output) writeFunction(join(folder, fileName), code);
  } finally {
    await bundle.close();
  }
  writeEntries(folder);
  await ensurePixels();
  mkdirSync(join(folder, 'pixels'), { recursive: true });
  copyFileSync(pixelsFile, join(folder, 'pixels', 'pixels.wasm'));
}

/** An entry is one line that loads the rest; see docs/decisions/0320. */
function writeEntries(folder) {
  copyFileSync(join(root, 'scripts', 'compiled', 'load.cjs'), join(folder, 'load.cjs'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  for (const entry of ENTRIES) {
    const loader = posix.relative(dirname(entry), 'load.cjs');
    const line = `#!/usr/bin/env node\nrequire('${loader}').enter(module);\n`;
    writeFileSync(join(folder, `${entry}.js`), line, { mode: 0o755 });
  }
}

/**
 * As load.cjs calls it. In ASCII, as load.cjs reads it: one character beyond makes V8 keep a whole file in two bytes a
 * character.
 */
function writeFunction(file, code) {
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const plain = code.replace(/[\u0080-\uffff]/g, escaped);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `(function (exports, require, module, __filename, __dirname) {\n${plain}\n})\n`);
}

const PART_OF_UNDICI = `
  import connect from './lib/api/api-connect.js';
  import request from './lib/api/api-request.js';
  import Agent from './lib/dispatcher/agent.js';
  import Dispatcher from './lib/dispatcher/dispatcher.js';
  import Pool from './lib/dispatcher/pool.js';
  import ProxyAgent from './lib/dispatcher/proxy-agent.js';
  Object.assign(Dispatcher.prototype, { connect, request });
  export { Agent, Pool, ProxyAgent };
`;

/**
 * V8 takes up to a quarter of a second of a processor to optimise undici's parser, which is one huge function, and does so
 * within the first answers a process reads. With this budget it does so with the thousandth. V8's own budget, by version of
 * Node.js, is put back for other modules; for other versions the parser is compiled as usual.
 */
const COMPILE_PARSER = `
  function compileParser(bytes) {
    const usual = { 20: 1800000, 22: 13000000, 24: 13000000, 26: 13000000 }[parseInt(process.versions.node, 10)];
    if (usual === undefined) return new WebAssembly.Module(bytes);
    const { setFlagsFromString } = require('node:v8');
    setFlagsFromString('--wasm-tiering-budget=2000000000');
    try {
      return new WebAssembly.Module(bytes);
    } finally {
      setFlagsFromString(\`--wasm-tiering-budget=\${usual}\`);
    }
  }
`;

/** The server uses undici's pool and agents, over HTTP/1 and without SOCKS: the whole package costs a start ten times as much. */
function partOfUndici() {
  const index = createRequire(import.meta.url).resolve('undici');
  const fileOf = (name) => join(dirname(index), 'lib', 'dispatcher', name);
  const http1 = fileOf('client-h1.js');
  const unused = ['client-h2.js', 'socks5-proxy-agent.js'].map(fileOf);
  return {
    name: 'part-of-undici',
    load(id) {
      if (id === index) return PART_OF_UNDICI;
      return unused.includes(id) ? 'export default null;' : null;
    },
    transform(code, id) {
      if (id !== http1) return null;
      const changed = code.replaceAll('new WebAssembly.Module(', 'compileParser(');
      if (changed === code) throw new Error('The HTTP parser of undici is not where it was.');
      return { code: `${changed}${COMPILE_PARSER}` };
    },
  };
}

/** Keeps `import.meta.url` of a module as if it were built alone, whatever file contains it. */
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
