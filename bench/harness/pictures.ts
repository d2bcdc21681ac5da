/** Pictures of an upstream, one for each metatile of 4×4 tiles, kept in .build/ from one run to the next. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCanvas } from '@napi-rs/canvas';
import sharp from 'sharp';
import { request } from './request.ts';
import { hash } from './tile-store.ts';

export type PictureName = 'drawn' | 'busy' | 'photo';

export interface PicturePlace {
  readonly z: number;
  /** Counted in metatiles. */
  readonly column: number;
  readonly row: number;
  readonly side: number;
}

export interface Pictures {
  readonly mediaType: string;
  of(place: PicturePlace): Buffer;
}

/** Half of the width of the world in EPSG:3857. */
const HALF = 20037508.342789244;
const METATILE = 4;
const CONCURRENCY = 4;
const FOLDER = fileURLToPath(new URL('../../.build/bench-seed', import.meta.url));

/** Creates the missing pictures of the zooms from 0 on; those of an interrupted run are used. `mapServerUrl` draws the first kind. */
export async function loadPictures(name: PictureName, zoom: number, mapServerUrl: string): Promise<Pictures> {
  const folder = join(FOLDER, name);
  mkdirSync(folder, { recursive: true });
  const loaded = new Map<string, Buffer>();
  const load = async (place: PicturePlace) => {
    const file = join(folder, keyOf(place));
    loaded.set(
      keyOf(place),
      existsSync(file) ? readFileSync(file) : await create(name, place, mapServerUrl, file),
    );
  };
  const places = [...placesUpTo(zoom)];
  for (let at = 0; at < places.length; at += CONCURRENCY) {
    await Promise.all(places.slice(at, at + CONCURRENCY).map(load));
  }
  return {
    mediaType: name === 'photo' ? 'image/jpeg' : 'image/png',
    of(place) {
      const bytes = loaded.get(keyOf(place));
      if (!bytes) throw new Error(`there is no picture of ${keyOf(place)}`);
      return bytes;
    },
  };
}

/** The same picture for all places, in each size. */
export function picturesOfOneKind(): Pictures {
  const drawn = new Map<number, Buffer>();
  return {
    mediaType: 'image/png',
    of({ side }) {
      const bytes = drawn.get(side) ?? drawBusy({ z: 0, column: 0, row: 0, side });
      drawn.set(side, bytes);
      return bytes;
    },
  };
}

function* placesUpTo(zoom: number): Generator<PicturePlace> {
  for (let z = 0; z <= zoom; z++) {
    const tiles = Math.min(METATILE, 2 ** z);
    const count = 2 ** z / tiles;
    for (let row = 0; row < count; row++) {
      for (let column = 0; column < count; column++) yield { z, column, row, side: tiles * 256 };
    }
  }
}

function boundsOf({ z, column, row, side }: PicturePlace): readonly [number, number, number, number] {
  const width = (2 * HALF * side) / (256 * 2 ** z);
  const [west, north] = [-HALF + column * width, HALF - row * width];
  return [west, north - width, west + width, north];
}

/** The place of a WMS request; clients round its box differently. */
export function placeOf(query: URLSearchParams): PicturePlace {
  const [west = 0, , east = 0, north = 0] = (query.get('bbox') ?? '').split(',').map(Number);
  const side = Number(query.get('width'));
  const z = Math.round(Math.log2((2 * HALF * side) / 256 / (east - west)));
  const width = east - west;
  return { z, column: Math.round((west + HALF) / width), row: Math.round((HALF - north) / width), side };
}

function keyOf({ z, column, row, side }: PicturePlace): string {
  return `${z}-${column}-${row}-${side}`;
}

async function create(
  name: PictureName,
  place: PicturePlace,
  mapServerUrl: string,
  file: string,
): Promise<Buffer> {
  const bytes = await MAKERS[name](place, mapServerUrl);
  writeFileSync(`${file}.part`, bytes);
  renameSync(`${file}.part`, file);
  return bytes;
}

const MAKERS: Readonly<Record<PictureName, (place: PicturePlace, url: string) => Promise<Buffer>>> = {
  drawn: requestMap,
  busy: async (place) => drawBusy(place),
  photo: photograph,
};

async function requestMap(place: PicturePlace, url: string): Promise<Buffer> {
  const { side } = place;
  const box = boundsOf(place).join(',');
  const query = `SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=land&STYLES=&SRS=EPSG:3857&BBOX=${box}&WIDTH=${side}&HEIGHT=${side}&FORMAT=image/png`;
  return Buffer.from(await (await request(`${url}?${query}`)).arrayBuffer());
}

/** A number from 0 to 1, the same in every run. */
function chance({ z, column, row }: PicturePlace, n: number): number {
  return hash(hash(z, column), hash(row, n)) / 2 ** 32;
}

/** Areas, antialiased lines and dots over a ground: 600 to 10,000 colours a tile, as in a town plan. */
function drawBusy(place: PicturePlace): Buffer {
  const { side } = place;
  const canvas = createCanvas(side, side);
  const context = canvas.getContext('2d');
  context.fillStyle = '#eef0e4';
  context.fillRect(0, 0, side, side);
  for (let i = 0; i < (side * side) / 2500; i++) {
    const at = (n: number) => chance(place, i * 8 + n);
    const [x, y] = [at(0) * side, at(1) * side];
    context.fillStyle = `hsl(${Math.floor(at(2) * 360)} 40% 70%)`;
    context.fillRect(Math.floor(x), Math.floor(y), 8 + at(3) * 40, 5 + at(4) * 30);
    context.strokeStyle = `hsl(${Math.floor(at(5) * 360)} 60% 45%)`;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + (at(6) - 0.5) * 300, y + (at(7) - 0.5) * 300);
    context.stroke();
  }
  return canvas.toBuffer('image/png');
}

/** Noise of several sizes, blended: it costs a compressor as much as an aerial photograph. */
async function photograph(place: PicturePlace): Promise<Buffer> {
  const { side } = place;
  const grains = await Promise.all(
    [16, 64, 256].map(async (size, n) => {
      const pixels = Buffer.from(
        Array.from({ length: size * size * 3 }, (_, i) => chance(place, i * 4 + n) * 256),
      );
      return sharp(pixels, { raw: { width: size, height: size, channels: 3 } })
        .resize(side, side)
        .png()
        .toBuffer();
    }),
  );
  const [ground, ...over] = grains;
  const layers = over.map((input) => ({ input, blend: 'soft-light' as const }));
  return await sharp(ground).composite(layers).jpeg({ quality: 90 }).toBuffer();
}
