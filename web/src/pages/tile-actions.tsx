import { type ApiResponse, Problem, part, problemFrom, reach, send } from '../api/client.ts';
import { useAction } from '../api/use-resource.ts';
import { bytesText, fill, zoomsText } from '../format.ts';
import { insideOf, type TileSet, tileAddress, tileContentAddress, wishesOf } from '../map/tile-set.ts';
import { ActionNotices, Button, LinkButton } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { addressOf } from '../route.ts';
import { may, mayWorkOn, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

export type TileInfo = ApiResponse<'GET /api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}'>;

export type TileComparison = Awaited<ReturnType<typeof renewTile>>;

type Removal = ApiResponse<'POST /api/v1/layers/{layer}/truncate'>;

const WORDS = TEXTS.inspect;

export function TileActions(props: {
  set: TileSet;
  info: TileInfo;
  /** Null if the tile could not be made; the tile's details name the reason. */
  onRenewed: (comparison: TileComparison | null) => void;
  onRemoved: () => void;
}) {
  const { set, info, onRenewed, onRemoved } = props;
  const action = useAction();
  const caller = useCaller();
  if (!may(caller, 'operator')) return null;
  if (!mayWorkOn(caller, info.layer)) return <p className="quiet">{TEXTS.notYours}</p>;
  const name = fill(WORDS.picture, { z: info.z, x: info.x, y: info.y });
  const removal = (text: string, title: string, zoomStop: number, typed?: string) => (
    <ConfirmButton
      action={action}
      title={title}
      verb={TEXTS.remove}
      name={typed}
      text={async () => {
        const { tiles, bytes } = await truncate(set, info, zoomStop, true);
        return fill(WORDS.removalText, {
          count: tiles,
          bytes: bytesText(bytes),
          zooms: zoomsText(info.z, zoomStop),
        });
      }}
      onConfirm={async () => {
        const { tiles } = await truncate(set, info, zoomStop, false);
        onRemoved();
        return fill(WORDS.truncated, { count: tiles });
      }}
    >
      {text}
    </ConfirmButton>
  );
  const renew = async () => {
    const comparison = await renewTile(set, info).catch((error: unknown) => {
      onRenewed(null);
      throw error;
    });
    onRenewed(comparison);
  };
  const below = set.gridSet.zoomStop > info.z;
  return (
    <>
      <div className="row">
        <Button title={WORDS.renewHelp} disabled={action.busy} onClick={() => action.run(renew)}>
          {action.busy ? WORDS.working : WORDS.renew}
        </Button>
        <LinkButton href={seedAddress(set, info)}>{WORDS.renewBelow}</LinkButton>
        {removal(WORDS.truncate, fill(TEXTS.removeTitle, { name }), info.z)}
        {removal(
          WORDS.truncateBelow,
          below ? fill(WORDS.belowTitle, { name }) : fill(TEXTS.removeTitle, { name }),
          set.gridSet.zoomStop,
          below ? set.layer.name : undefined,
        )}
      </div>
      <ActionNotices action={action} />
    </>
  );
}

/** The address of the seed page with the tile's area, which shows an estimate before a task starts. */
function seedAddress(set: TileSet, info: TileInfo): string {
  const { zoomStop } = set.gridSet;
  return addressOf('seed', info.layer, {
    ...wishesOf(set),
    type: 'reseed',
    bounds: insideOf(info.bounds).join(','),
    zoomStart: String(info.z),
    zoomStop: String(zoomStop),
  });
}

function truncate(set: TileSet, info: TileInfo, zoomStop: number, dryRun: boolean): Promise<Removal> {
  return send<Removal>('POST', `api/v1/layers/${part(set.layer.name)}/truncate`, {
    gridSets: [set.gridSet.name],
    formats: [info.format],
    parameters: info.parameters,
    zoomStart: info.z,
    zoomStop,
    bounds: insideOf(info.bounds),
    dryRun,
  });
}

/** Has the tile made again, and returns both versions; `before` is null if none was stored. */
async function renewTile(set: TileSet, info: TileInfo) {
  const content = tileContentAddress(set, info);
  const before = info.stored ? await pictureAt(content) : null;
  await makeAgain(set, info);
  const after = await pictureAt(content);
  const same = before?.address === after.address;
  const comparable = before !== null && !same && info.format.startsWith('image/');
  return {
    before,
    after,
    same,
    difference: comparable ? await differenceOf(before.address, after.address) : null,
  };
}

async function makeAgain(set: TileSet, { z, x, y }: TileInfo): Promise<void> {
  const address = new URL(tileAddress(set, z, x, y), location.href);
  address.searchParams.set('cached', 'refresh');
  try {
    await reach(address.href, { cache: 'no-store' });
  } catch (error) {
    const { message, status, requestId } = problemFrom(error);
    throw new Problem(fill(WORDS.renewFailed, { reason: message }), status, requestId);
  }
}

/** A picture as a data URL. */
async function pictureAt(path: string): Promise<{ readonly address: string; readonly bytes: number }> {
  const blob = await (await reach(path, { cache: 'reload' })).blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ address: String(reader.result), bytes: blob.size });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

const MARK = [220, 38, 38, 255] as const;
/** Opacity of equal pixels. */
const PALE = 0.25;

/**
 * The share of pixels that differ, from 0 to 1, and the second picture, pale, with differences in red. Null if their sizes
 * differ.
 */
async function differenceOf(before: string, after: string) {
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
