import type { TileWrite } from '../../src/storage/tile-store.ts';

const ONE_COLOUR_SHARE = 0.3;
const ONE_COLOUR_BYTES = 103;
const SMALLEST = 2000;
const LARGEST = 20_000;
const NOISE_BYTES = 1024 ** 2;

/** Tiles as a map has them: three in ten of one colour, the others 2 to 20 KB with more small ones than large. */
export function createSyntheticTiles(): (x: number, y: number) => TileWrite {
  const noise = Buffer.alloc(NOISE_BYTES);
  for (let at = 0; at < NOISE_BYTES; at += 4) noise.writeUInt32LE(hash(at, 17), at);
  return (x, y) => {
    const length = sizeOf(x, y);
    const from = hash(y, x) % (NOISE_BYTES - LARGEST);
    return { x, y, bytes: noise.subarray(from, from + length), createdAt: 1_700_000_000_000 };
  };
}

function sizeOf(x: number, y: number): number {
  const kind = hash(x, y) / 2 ** 32;
  if (kind < ONE_COLOUR_SHARE) return ONE_COLOUR_BYTES;
  const spread = (kind - ONE_COLOUR_SHARE) / (1 - ONE_COLOUR_SHARE);
  return Math.round(SMALLEST + (LARGEST - SMALLEST) * spread ** 2);
}

/** A number from 0 to 2³² − 1 that looks random and is the same in every run. */
export function hash(a: number, b: number): number {
  let mixed = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
