// Builds everything into dist/: server, web pages, documentation, the configuration's JSON Schema and third-party notices.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { ensureNative, ensureServerPackages } from './install.mjs';
import { writeNotices } from './notices.mjs';
import { bothOf, digestOf, requiredStep, root, runCommand, runNpm } from './steps.mjs';

const dist = join(root, 'dist');
const stampFile = join(dist, '.stamp');

/** Makes a clone ready to start a server. The database library is compiled while the rest is built, which does not need it. */
export async function prepareServer(makeBuild = ensureBuilt) {
  await ensureServerPackages();
  await bothOf(makeBuild(), ensureNative());
}

export async function ensureBuilt() {
  const stamp = stampOfSources();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  await build();
}

/** Builds in a temporary folder and swaps it in, so that dist/ never mixes two builds. */
export async function build() {
  const stamp = stampOfSources();
  const aside = join(root, '.build', `dist-${process.pid}`);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  try {
    await buildServer(aside);
    await buildWeb(join(aside, 'web'));
    await buildDocs(join(aside, 'web', 'docs'));
    await writeSchema(aside);
    writeNotices(aside);
    writeFileSync(join(aside, '.stamp'), stamp);
    swapIn(aside);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

async function buildServer(folder) {
  const { bundleServer } = await import('./bundle.mjs');
  await requiredStep('Building the server', async () => {
    try {
      await bundleServer(folder);
      return { ok: true, output: '' };
    } catch (error) {
      return { ok: false, output: error.message };
    }
  });
}

async function buildWeb(folder) {
  const { scripts } = JSON.parse(readFileSync(join(root, 'web', 'package.json'), 'utf8'));
  if (!scripts?.build) return;
  // With another value, such as vitest's, React would be bundled in its development build: two thirds larger, and slow.
  const env = { NODE_ENV: 'production' };
  await requiredStep('Building the web pages', () =>
    runNpm(['run', 'build', '-w', 'web', '--', '--outDir', folder, '--emptyOutDir'], { quiet: true, env }),
  );
}

/** Imports dynamically: packages may not be installed yet when this file is loaded. */
async function buildDocs(folder) {
  const { writeDocs } = await import('./docs/write-docs.mjs');
  writeDocs(folder);
}

async function writeSchema(folder) {
  const { createSettingsSchema } = createRequire(import.meta.url)(join(folder, 'config', 'json-schema.js'));
  writeFileSync(
    join(folder, 'tilewarden.schema.json'),
    `${JSON.stringify(createSettingsSchema(), null, 2)}\n`,
  );
}

function swapIn(folder) {
  const old = `${folder}-old`;
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(folder, dist);
  rmSync(old, { recursive: true, force: true });
}

function stampOfSources() {
  const ignore = (path) => /[\\/](node_modules|dist)$/.test(path) || /\.(test\.ts|wasm)$/.test(path);
  const inputs = [
    'src',
    'packages',
    'web',
    'docs',
    'package-lock.json',
    'scripts/build.mjs',
    'scripts/bundle.mjs',
    'scripts/docs',
    'scripts/notices.mjs',
    'scripts/pixels.mjs',
  ];
  return digestOf(inputs, ignore);
}

if (argv[1] === fileURLToPath(import.meta.url)) await runCommand(() => prepareServer(build));
