// Builds everything into dist/: the server, the web pages, the documentation, the configuration's JSON Schema and the notices of others.
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

/** From a clone to a server that can start. The database's library is compiled while the rest is built without it. */
export async function prepareServer(makeBuild = ensureBuilt) {
  await ensureServerPackages();
  await bothOf(makeBuild(), ensureNative());
}

export async function ensureBuilt() {
  const stamp = stampOfSources();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  await build();
}

/** Works in a folder aside and swaps it in whole, so that dist/ is never half of one build and half of another. */
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
  // With another value, such as that of vitest, React would be its development build: two thirds larger, and slow.
  const env = { NODE_ENV: 'production' };
  await requiredStep('Building the web pages', () =>
    runNpm(['run', 'build', '-w', 'web', '--', '--outDir', folder, '--emptyOutDir'], { quiet: true, env }),
  );
}

/** Imported only here: nothing is installed yet when this file is loaded. */
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
