import { useState } from 'react';
import { part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { bytesText, countText } from '../format.ts';
import { insideOf, type TileSet, wishesOf } from '../map/tile-set.ts';
import { ActionNotices } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { addressOf } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { renewTile, type TileComparison, type TileInfo } from './renew-tile.ts';

interface Removal {
  readonly tiles: number;
  readonly bytes: number;
}

/** What is asked before it is done. */
interface Question extends Removal {
  readonly zoomStop: number;
}

const WORDS = TEXTS.inspect;

export function TileActions(props: {
  readonly set: TileSet;
  readonly info: TileInfo;
  readonly onRenewed: (comparison: TileComparison) => void;
  readonly onRemoved: () => void;
}) {
  const { set, info, onRenewed, onRemoved } = props;
  const action = useAction();
  const [question, setQuestion] = useState<Question | null>(null);
  if (!may(useCaller(), 'operator')) return null;
  const renew = () =>
    action.run(async () => {
      onRenewed(await renewTile(set, info));
      return null;
    });
  const ask = (zoomStop: number) =>
    action.run(async () => {
      setQuestion({ ...(await truncate(set, info, zoomStop, true)), zoomStop });
      return null;
    });
  const remove = (zoomStop: number) =>
    action.run(async () => {
      const { tiles } = await truncate(set, info, zoomStop, false);
      onRemoved();
      return WORDS.truncated(countText(tiles));
    });
  const { zoomStop } = set.gridSet;
  return (
    <>
      <div className="row">
        <button type="button" title={WORDS.renewHelp} disabled={action.busy} onClick={() => void renew()}>
          {action.busy ? WORDS.working : WORDS.renew}
        </button>
        <a className="button" href={seedAddress(set, info)}>
          {WORDS.renewBelow}
        </a>
        <button type="button" className="danger" disabled={action.busy} onClick={() => void ask(info.z)}>
          {WORDS.truncate}
        </button>
        <button type="button" className="danger" disabled={action.busy} onClick={() => void ask(zoomStop)}>
          {WORDS.truncateBelow}
        </button>
      </div>
      <ActionNotices action={action} />
      {question && (
        <RemovalQuestion
          question={question}
          set={set}
          info={info}
          onConfirm={() => void remove(question.zoomStop)}
          onClose={() => setQuestion(null)}
        />
      )}
    </>
  );
}

function RemovalQuestion(props: {
  readonly question: Question;
  readonly set: TileSet;
  readonly info: TileInfo;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  const { question, set, info, onConfirm, onClose } = props;
  const below = question.zoomStop > info.z;
  const name = WORDS.picture(info.z, info.x, info.y);
  return (
    <Confirm
      title={below ? WORDS.belowTitle(name) : WORDS.oneTitle(name)}
      action={TEXTS.remove}
      {...(below && { name: set.layer.name })}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      {WORDS.removalText(countText(question.tiles), bytesText(question.bytes), info.z, question.zoomStop)}
    </Confirm>
  );
}

/** The seeding page counts first what it would be. */
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
