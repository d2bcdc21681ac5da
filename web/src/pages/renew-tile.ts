import { type ApiResponse, Problem, reach, send } from '../api/client.ts';
import { type Task, taskFeed } from '../api/task-feed.ts';
import { failureText, fill } from '../format.ts';
import { insideOf, type TileSet, tileContentAddress } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';

export type TileInfo = ApiResponse<'GET /api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}'>;

export interface TilePicture {
  /** A data address. */
  readonly address: string;
  readonly bytes: number;
}

export interface TileComparison {
  /** Null when it was not stored. */
  readonly before: TilePicture | null;
  readonly after: TilePicture;
  readonly same: boolean;
  /** Null when they are the same, or no pictures. */
  readonly difference: Difference | null;
}

const TIMEOUT_MS = 60_000;

/** Reseeds one tile and returns both versions. */
export async function renewTile(set: TileSet, info: TileInfo): Promise<TileComparison> {
  const address = tileContentAddress(set, info);
  const before = info.stored ? await pictureAt(address) : null;
  await endOf(() =>
    send<Task>('POST', 'api/v1/tasks', {
      layer: info.layer,
      type: 'reseed',
      gridSet: info.gridSet,
      format: info.format,
      parameters: info.parameters,
      zoomStart: info.z,
      zoomStop: info.z,
      bounds: insideOf(info.bounds),
      priority: 1,
    }),
  );
  const after = await pictureAt(address);
  const same = before?.address === after.address;
  const comparable = before !== null && !same && info.format.startsWith('image/');
  return {
    before,
    after,
    same,
    difference: comparable ? await differenceOf(before.address, after.address) : null,
  };
}

/** Listens before it starts the task, so that a quick one is not missed. */
async function endOf(start: () => Promise<Task>): Promise<void> {
  const ended = new Map<number, Task>();
  let tell = (_task: Task) => {};
  const stop = taskFeed.listen((task) => {
    if (task.state !== 'done' && task.state !== 'aborted') return;
    ended.set(task.id, task);
    tell(task);
  });
  try {
    const { id } = await start();
    const task = await new Promise<Task>((resolve, reject) => {
      tell = (one) => one.id === id && resolve(one);
      const known = ended.get(id);
      if (known) resolve(known);
      setTimeout(
        () => reject(new Problem(fill(TEXTS.inspect.renewFailed, { reason: TEXTS.unknown }), 0, null)),
        TIMEOUT_MS,
      );
    });
    if (task.counters.failed === 0 && task.state === 'done') return;
    const [failure] = task.errors;
    const reason = (failure && failureText(failure)) ?? task.reason ?? TEXTS.unknown;
    throw new Problem(fill(TEXTS.inspect.renewFailed, { reason }), 0, null);
  } finally {
    stop();
  }
}

async function pictureAt(path: string): Promise<TilePicture> {
  const blob = await (await reach(path, { cache: 'reload' })).blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ address: String(reader.result), bytes: blob.size });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** How two pictures differ, pixel by pixel. */
interface Difference {
  /** From 0 to 1. */
  readonly share: number;
  /** The second picture, pale, with what differs in red; a data address. */
  readonly picture: string;
}

const MARK = [220, 38, 38, 255] as const;
/** Opacity of equal pixels. */
const PALE = 0.25;

/** Null if their sizes differ. */
async function differenceOf(before: string, after: string): Promise<Difference | null> {
  const [old, fresh] = [await pixelsOf(before), await pixelsOf(after)];
  if (old.image.width !== fresh.image.width || old.image.height !== fresh.image.height) return null;
  const words = ({ image }: typeof old) => new Uint32Array(image.data.buffer);
  const [oldPixels, freshPixels] = [words(old), words(fresh)];
  const { data } = fresh.image;
  let count = 0;
  for (let place = 0; place < freshPixels.length; place++) {
    if (oldPixels[place] === freshPixels[place]) {
      data[4 * place + 3] = (data[4 * place + 3] ?? 0) * PALE;
      continue;
    }
    count += 1;
    data.set(MARK, 4 * place);
  }
  fresh.context.putImageData(fresh.image, 0, 0);
  return { share: count / freshPixels.length, picture: fresh.context.canvas.toDataURL() };
}

async function pixelsOf(address: string) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d');
  if (!context) throw new Error('The browser has no canvas.');
  context.drawImage(image, 0, 0);
  return { context, image: context.getImageData(0, 0, width, height) };
}
