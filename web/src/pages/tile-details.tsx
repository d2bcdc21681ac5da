import { useState } from 'react';
import { type Answer, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { bytesText, coordinateText, countText, durationText, timeText } from '../format.ts';
import type { TilePlace } from '../map/console-map.ts';
import { insideOf, type TileSet, tileAddress, tileSetQuery } from '../map/tile-set.ts';
import { DoneNotice, Loaded, ProblemNotice } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { renewTile, type TileComparison } from './renew-tile.ts';

type TileInfo = Answer<'/api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}'>;

const WORDS = TEXTS.inspect;

/** All that is known of one tile, and what can be done with it. */
export function TileDetails({ set, place }: { readonly set: TileSet; readonly place: TilePlace }) {
  const { z, x, y } = place;
  const path = `api/v1/layers/${part(set.layer.name)}/tiles/${part(set.gridSet.name)}/${z}/${x}/${y}`;
  const tile = useResource<TileInfo>(`${path}?${tileSetQuery(set)}`);
  const [comparison, setComparison] = useState<TileComparison | null>(null);
  return (
    <section className="stack" aria-label={WORDS.picture(z, x, y)}>
      <h3>{WORDS.picture(z, x, y)}</h3>
      <Loaded resource={tile}>
        {(info) => (
          <>
            <div className="compare">
              {comparison ? <Comparison comparison={comparison} /> : <Picture set={set} info={info} />}
              <Facts set={set} info={info} />
            </div>
            <Actions set={set} info={info} onChanged={tile.reload} onCompared={setComparison} />
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Shown only when it is stored: looking must not make a tile. */
function Picture({ set, info }: { readonly set: TileSet; readonly info: TileInfo }) {
  if (!info.stored || !info.format.startsWith('image/')) {
    return <p className="notice">{info.stored ? info.format : WORDS.notStored}</p>;
  }
  const alt = WORDS.picture(info.z, info.x, info.y);
  return (
    <figure>
      <img className="tile-picture" src={tileAddress(set, info.z, info.x, info.y)} alt={alt} />
    </figure>
  );
}

function Comparison({ comparison: { before, after, same } }: { readonly comparison: TileComparison }) {
  return (
    <>
      {(
        [
          [WORDS.before, before],
          [WORDS.after, after],
        ] as const
      ).map(([title, picture]) => (
        <figure key={title}>
          {picture ? <img className="tile-picture" src={picture} alt={title} /> : <p>{WORDS.notStored}</p>}
          <figcaption>{title}</figcaption>
        </figure>
      ))}
      <p role="status">{same ? WORDS.same : WORDS.differ}</p>
    </>
  );
}

function Facts({ set, info }: { readonly set: TileSet; readonly info: TileInfo }) {
  const { stored, page, metatile } = info;
  const address = tileAddress(set, info.z, info.x, info.y);
  return (
    <dl className="facts small">
      {stored && (
        <>
          <dt>{WORDS.size}</dt>
          <dd>{bytesText(stored.bytes)}</dd>
          <dt>{WORDS.stored}</dt>
          <dd>
            {timeText(stored.storedAt)} ({durationText(stored.ageSeconds)})
          </dd>
          <dt>{WORDS.expires}</dt>
          <dd>
            {stored.expiresAt === null ? TEXTS.never : timeText(stored.expiresAt)}
            {stored.expired && ` (${WORDS.expired})`}
          </dd>
          <dt>{WORDS.checksum}</dt>
          <dd className="mono">{stored.checksum}</dd>
        </>
      )}
      <dt>{WORDS.bounds}</dt>
      <dd>{info.bounds.map(coordinateText).join(', ')}</dd>
      <dt>{WORDS.page}</dt>
      <dd>
        {page.lastUsedAt === null
          ? WORDS.pageUnused
          : WORDS.pageUses(countText(page.hits), timeText(page.lastUsedAt))}
      </dd>
      {metatile && (
        <>
          <dt>{WORDS.metatile}</dt>
          <dd>
            {WORDS.metatileRange(`${metatile.minX}–${metatile.maxX}`, `${metatile.minY}–${metatile.maxY}`)}
          </dd>
        </>
      )}
      <dt>{WORDS.upstream}</dt>
      <dd className="mono">{info.upstream ?? WORDS.noUpstream}</dd>
      <dt>{WORDS.address}</dt>
      <dd>
        <a href={address} target="_blank" rel="noopener">
          {address}
        </a>
      </dd>
    </dl>
  );
}

function Actions(props: {
  readonly set: TileSet;
  readonly info: TileInfo;
  readonly onChanged: () => void;
  readonly onCompared: (comparison: TileComparison | null) => void;
}) {
  const { set, info, onChanged, onCompared } = props;
  const caller = useCaller();
  const action = useAction();
  const [asking, setAsking] = useState(false);
  if (!may(caller, 'operator')) return null;
  const renew = () =>
    action.run(async () => {
      onCompared(await renewTile(set, info));
      onChanged();
      return null;
    });
  const truncate = (zoomStop: number) =>
    action.run(async () => {
      const removed = await truncateBelow(set, info, zoomStop);
      onCompared(null);
      onChanged();
      return WORDS.truncated(countText(removed));
    });
  return (
    <>
      <div className="row">
        <button type="button" disabled={action.busy} onClick={() => void renew()}>
          {action.busy ? WORDS.renewing : WORDS.renew}
        </button>
        <button type="button" className="danger" disabled={action.busy} onClick={() => void truncate(info.z)}>
          {WORDS.truncate}
        </button>
        <button type="button" className="danger" disabled={action.busy} onClick={() => setAsking(true)}>
          {WORDS.truncateBelow}
        </button>
      </div>
      <ProblemNotice problem={action.problem} />
      <DoneNotice text={action.done} />
      {asking && (
        <Confirm
          title={WORDS.truncateBelow}
          action={TEXTS.remove}
          name={set.layer.name}
          onConfirm={() => void truncate(set.gridSet.zoomStop)}
          onClose={() => setAsking(false)}
        >
          {info.bounds.map(coordinateText).join(', ')}
        </Confirm>
      )}
    </>
  );
}

async function truncateBelow(set: TileSet, info: TileInfo, zoomStop: number): Promise<number> {
  const { tiles } = await send<{ tiles: number }>('POST', `api/v1/layers/${part(set.layer.name)}/truncate`, {
    gridSets: [set.gridSet.name],
    formats: [info.format],
    parameters: info.parameters,
    zoomStart: info.z,
    zoomStop,
    bounds: insideOf(info.bounds),
  });
  return tiles;
}
