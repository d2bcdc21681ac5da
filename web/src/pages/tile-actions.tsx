import { type ApiResponse, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { bytesText, fill, zoomsText } from '../format.ts';
import { insideOf, type TileSet, wishesOf } from '../map/tile-set.ts';
import { ActionNotices, Button, LinkButton } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { addressOf } from '../route.ts';
import { may, mayWorkOn, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { renewTile, type TileComparison, type TileInfo } from './renew-tile.ts';

type Removal = ApiResponse<'POST /api/v1/layers/{layer}/truncate'>;

const WORDS = TEXTS.inspect;

export function TileActions(props: {
  set: TileSet;
  info: TileInfo;
  onRenewed: (comparison: TileComparison) => void;
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
  const below = set.gridSet.zoomStop > info.z;
  return (
    <>
      <div className="row">
        <Button
          title={WORDS.renewHelp}
          disabled={action.busy}
          onClick={() => action.run(() => renewTile(set, info).then(onRenewed))}
        >
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

/** The seeding page shows an estimate first. */
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
