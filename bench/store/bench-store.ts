import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openBundleContender } from './bundle-contender.ts';
import { createFileContender } from './file-contender.ts';
import { type Measurement, measure } from './measure.ts';

const USAGE = `npm run bench:store -- [--tiles 1000000] [--folder DIR] [--drop-caches] [--no-files]
  --tiles        how many synthetic tiles to write
  --folder       where to write them (default: the system's folder for temporary files)
  --drop-caches  empty the system's cache of files before the cold reads; needs root and slows others down for a while
  --no-files     leave out one file per tile
`;
const RANDOM_READS = 20_000;

const { values } = parseArgs({
  options: {
    tiles: { type: 'string', default: '1000000' },
    folder: { type: 'string', default: tmpdir() },
    'drop-caches': { type: 'boolean', default: false },
    'no-files': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  say(USAGE);
  process.exit(0);
}

const tiles = Number(values.tiles);
const folder = mkdtempSync(join(values.folder, 'tilewarden-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const forgetDisk = () => {
  if (values['drop-caches']) writeFileSync('/proc/sys/vm/drop_caches', '1');
};
const bundleRoot = join(folder, 'bundles');
let fresh: OpenedStore | null = null;
const bundles = await measure(
  () => openBundleContender(bundleRoot),
  { tiles, forgetDisk },
  async () => {
    fresh = openInOwnProcess(bundleRoot, Math.floor(Math.sqrt(tiles) * 0.3));
  },
);
const files = values['no-files']
  ? null
  : await measure(
      async () => createFileContender(join(folder, 'files')),
      { tiles, forgetDisk },
      async () => undefined,
    );
report(bundles, files, fresh);

interface Memory {
  readonly total: number;
  readonly files: number;
}

interface OpenedStore {
  readonly openMilliseconds: number;
  readonly before: Memory;
  readonly opened: Memory;
  readonly read: Memory;
}

function openInOwnProcess(root: string, side: number): OpenedStore {
  const script = fileURLToPath(new URL('./open-and-read.ts', import.meta.url));
  const args = [...process.execArgv, script, root, String(side), String(RANDOM_READS)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as OpenedStore;
}

function report(ours: Measurement, theirs: Measurement | null, opened: OpenedStore | null): void {
  const cold = values['drop-caches']
    ? 'cold reads per second'
    : 'first reads per second (cache of files warm)';
  say(`${ours.tiles} tiles, ${megabytes(ours.tileBytes)} MB of tiles\n\n`);
  row('', 'bundles', 'files', 'bundles : files');
  compare('writes per second, 16 at a time', ours, theirs, (m) => m.writesPerSecond);
  compare('hot reads per second', ours, theirs, (m) => m.hotReadsPerSecond);
  compare('slowest of 100,000 hot reads, ms', ours, theirs, (m) => m.slowestHotRead, 2);
  compare(cold, ours, theirs, (m) => m.coldReadsPerSecond);
  compare('range delete, tiles per second', ours, theirs, (m) => m.deletesPerSecond);
  compare('layer gone for readers, ms', ours, theirs, (m) => m.dropSeconds * 1000, 1);
  compare('layer gone from the disk, ms', ours, theirs, (m) => m.freedSeconds * 1000, 1);
  compare('disk used : sum of the tiles', ours, theirs, (m) => m.diskBytes / m.tileBytes, 3);
  if (!opened) return;
  say('\nA fresh process on these bundles\n');
  row('open and read a first tile, ms', opened.openMilliseconds.toFixed(1), '', '');
  row('memory before, MB (of files)', memoryText(opened.before), '', '');
  row('memory when open, MB (of files)', memoryText(opened.opened), '', '');
  row(`memory after ${RANDOM_READS} reads, MB (of files)`, memoryText(opened.read), '', '');
}

function compare(
  label: string,
  ours: Measurement,
  theirs: Measurement | null,
  figure: (measurement: Measurement) => number,
  digits = 0,
): void {
  const ratio = theirs ? (figure(ours) / figure(theirs)).toFixed(3) : '';
  row(label, figure(ours).toFixed(digits), theirs ? figure(theirs).toFixed(digits) : '', ratio);
}

function row(label: string, ours: string, theirs: string, ratio: string): void {
  say(`${label.padEnd(46)}${ours.padStart(14)}${theirs.padStart(14)}${ratio.padStart(18)}\n`);
}

function memoryText(memory: Memory): string {
  return `${megabytes(memory.total)} (${megabytes(memory.files)})`;
}

function megabytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(0);
}

function say(text: string): void {
  process.stdout.write(text);
}
