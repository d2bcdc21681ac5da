// Reading, cutting and writing pictures by packages/pixels beside sharp: processor time for a metatile.
// npm run bench -- pixels [--rounds 40]
import sharp from 'sharp';
import { JpegCutter } from '../../packages/pixels/jpeg-cutter.ts';
import { readOrdinaryPng } from '../../packages/pixels/ordinary-png.ts';
import { Pixels } from '../../packages/pixels/pixels.ts';
import { readOptions } from '../harness/options.ts';
import { loadPictures } from '../harness/pictures.ts';
import { say } from '../harness/report.ts';

const { rounds } = readOptions({ rounds: 40 });
const SIDE = 1024;
const TILE = 256;
const QUALITY = 80;
const PLACE = { z: 2, column: 0, row: 0, side: SIDE };
const GRID = {
  columns: 4,
  rows: 4,
  tileWidth: TILE,
  tileHeight: TILE,
  gutter: { left: 0, top: 0, right: 0, bottom: 0 },
};
const PARTS = Array.from({ length: 16 }, (_, i) => ({
  left: (i % 4) * TILE,
  top: Math.floor(i / 4) * TILE,
  width: TILE,
  height: TILE,
}));

// On this thread, like the package: the library's pool would hide its cost.
sharp.concurrency(1);
sharp.cache(false);
const pixels = new Pixels();
const cutter = new JpegCutter(QUALITY);
const busy = (await loadPictures('busy', 2, '')).of(PLACE);
const photo = (await loadPictures('photo', 2, '')).of(PLACE);
const flat = await sharp(busy).png({ palette: true, colours: 64, dither: 0 }).toBuffer();

for (const [name, png] of [
  ['PNG with a palette', flat],
  ['PNG in true colour', busy],
] as const) {
  await compare(
    `${name}: read`,
    () => read(png),
    () => sharp(png).raw().toBuffer(),
  );
  const raw = await sharp(png).ensureAlpha().raw().toBuffer();
  await compare(`${name}: 16 tiles written`, write, () =>
    Promise.all(PARTS.map((part) => writeBySharp(raw, part))),
  );
}
await compare(
  'JPEG: 16 tiles cut',
  () => cutter.cut(photo, GRID),
  async () => {
    const { data, info } = await sharp(photo).raw().toBuffer({ resolveWithObject: true });
    const { width, height, channels } = info;
    const image = () => sharp(data, { raw: { width, height, channels } });
    await Promise.all(PARTS.map((part) => image().extract(part).jpeg({ quality: QUALITY }).toBuffer()));
  },
);

function read(png: Buffer): void {
  const ordinary = readOrdinaryPng(png, SIDE, SIDE);
  if (!ordinary || !pixels.loadPng(ordinary, TILE, TILE)) throw new Error('not an ordinary PNG');
}

/** The tiles of the picture in memory. */
function write(): void {
  for (const part of PARTS) {
    const colours = pixels.index(part);
    if (colours > 0) pixels.indexedPng(part, colours);
    else pixels.trueColourPng(part);
  }
}

async function writeBySharp(data: Buffer, part: (typeof PARTS)[number]): Promise<void> {
  await sharp(data, { raw: { width: SIDE, height: SIDE, channels: 4 } })
    .extract(part)
    .png()
    .toBuffer();
}

async function compare(name: string, ours: () => unknown, theirs: () => unknown): Promise<void> {
  const [own, library] = [await processorMs(ours), await processorMs(theirs)];
  say(
    `${name.padEnd(40)}${own.toFixed(1).padStart(7)} ms, sharp ${library.toFixed(1).padStart(7)} ms: ${(own / library).toFixed(2)}`,
  );
}

async function processorMs(work: () => unknown): Promise<number> {
  for (let i = 0; i < rounds / 4; i++) await work();
  const before = process.cpuUsage();
  for (let i = 0; i < rounds; i++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / rounds;
}
