import { type ReactNode, useState } from 'react';
import { part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import {
  agoText,
  bytesText,
  coordinateText,
  failureText,
  fill,
  percentText,
  timeText,
  valuesText,
} from '../format.ts';
import type { TilePlace } from '../map/console-map.ts';
import { type TileSet, tileAddress, tileContentAddress, tileSetQuery } from '../map/tile-set.ts';
import { type Fact, Facts, Loaded } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { TileActions, type TileComparison, type TileInfo } from './tile-actions.tsx';

type Stored = NonNullable<TileInfo['stored']>;

const WORDS = TEXTS.inspect;

export function TileDetails({ set, place }: { set: TileSet; place: TilePlace }) {
  const { z, x, y } = place;
  const path = `api/v1/layers/${part(set.layer.name)}/tiles/${part(set.gridSet.name)}/${z}/${x}/${y}`;
  const tile = useResource<TileInfo>(`${path}?${tileSetQuery(set)}`);
  const [comparison, setComparison] = useState<TileComparison | null>(null);
  /** `storedAt` of the deleted tile, whose details are outdated until they are loaded again. */
  const [removed, setRemoved] = useState<string | null>(null);
  return (
    <section className="stack" aria-label={fill(WORDS.picture, { z, x, y })}>
      <h3>{fill(WORDS.picture, { z, x, y })}</h3>
      <Loaded resource={tile}>
        {(info) => (
          <>
            {comparison && <Comparison comparison={comparison} />}
            <div className="row compare">
              {!comparison && <Picture set={set} info={info} gone={info.stored?.storedAt === removed} />}
              <Known set={set} info={info} />
            </div>
            <TileActions
              set={set}
              info={info}
              onRenewed={(compared) => {
                setComparison(compared);
                tile.reload();
              }}
              onRemoved={() => {
                setRemoved(info.stored?.storedAt ?? null);
                setComparison(null);
                tile.reload();
              }}
            />
          </>
        )}
      </Loaded>
    </section>
  );
}

/** The picture of a stored tile; viewing must not make one. */
function Picture(props: { set: TileSet; info: TileInfo; gone: boolean }) {
  const { set, info, gone } = props;
  if (!info.stored || gone) return <p className="notice">{WORDS.notStored}</p>;
  if (!info.format.startsWith('image/')) return <p className="notice">{info.format}</p>;
  const alt = fill(WORDS.picture, { z: info.z, x: info.x, y: info.y });
  const address = `${tileContentAddress(set, info)}&_=${part(info.stored.storedAt)}`;
  return (
    <figure>
      <img className="tile-picture" src={address} alt={alt} />
    </figure>
  );
}

function Comparison({ comparison }: { comparison: TileComparison }) {
  const { before, after, same, difference } = comparison;
  return (
    <div className="stack">
      <div className="row compare">
        {before ? (
          <Side title={WORDS.before} address={before.address} under={bytesText(before.bytes)} />
        ) : (
          <p className="notice">{WORDS.notStoredBefore}</p>
        )}
        <Side title={WORDS.after} address={after.address} under={bytesText(after.bytes)} />
        {difference && (
          <Side
            title={WORDS.difference}
            address={difference.picture}
            under={fill(WORDS.differenceShare, { share: percentText(difference.share) })}
          />
        )}
      </div>
      <p className="notice" role="status">
        {before && (same ? WORDS.same : WORDS.differ)} {WORDS.renewed}
      </p>
    </div>
  );
}

function Side(props: { title: string; address: string; under: string }) {
  return (
    <figure>
      <img className="tile-picture" src={props.address} alt={props.title} />
      <figcaption>
        {props.title} <span className="quiet">{props.under}</span>
      </figcaption>
    </figure>
  );
}

function Known({ set, info }: { set: TileSet; info: TileInfo }) {
  const { layer, gridSet, format, parameters, z, x, y, stored, page, metatile } = info;
  const address = tileAddress(set, z, x, y);
  const key = [layer, gridSet, format, valuesText(parameters), `${z}/${x}/${y}`];
  const uses =
    page.lastUsedAt === null
      ? fill(WORDS.pageUnused, { place: `${page.x}/${page.y}` })
      : fill(WORDS.pageUses, {
          place: `${page.x}/${page.y}`,
          count: page.hits,
          ago: agoText(page.lastUsedAt),
        });
  const range =
    metatile &&
    fill(WORDS.metatileRange, {
      columns: `${metatile.minX}–${metatile.maxX}`,
      rows: `${metatile.minY}–${metatile.maxY}`,
    });
  const link = (
    <a href={address} target="_blank" rel="noopener">
      {address}
    </a>
  );
  return (
    <Facts
      kind="small"
      of={[
        [WORDS.key, key.filter((text) => text !== '').join(' · ')],
        ...(stored ? storedFacts(stored) : []),
        [TEXTS.tasks.bounds, info.bounds.map(coordinateText).join(', ')],
        [WORDS.page, uses],
        [TEXTS.layer.settingNames.metatile, range],
        [
          WORDS.upstream,
          <span key="upstream" className="mono">
            {info.upstream ?? WORDS.noUpstream}
          </span>,
        ],
        [
          WORDS.lastFailure,
          info.lastFailure && `${failureText(info.lastFailure)} (${agoText(info.lastFailure.at)})`,
        ],
        [TEXTS.layer.sourceNames.url, link],
      ]}
    />
  );
}

function storedFacts({ bytes, checksum, storedAt, madeBy, expiresAt, expired }: Stored): Fact[] {
  const until = expiresAt === null ? TEXTS.never : timeText(expiresAt);
  const size = (
    <>
      {bytesText(bytes)} <span className="quiet">{fill(WORDS.crc, { checksum })}</span>
    </>
  );
  return [
    [WORDS.size, size],
    [WORDS.stored, `${timeText(storedAt)} (${agoText(storedAt)})`],
    [WORDS.madeBy, makerOf(madeBy)],
    [WORDS.expires, expired ? `${until} (${WORDS.expired})` : until],
  ];
}

function makerOf({ kind, task, inHistory }: Stored['madeBy']): ReactNode {
  if (kind === 'request') return WORDS.byRequest;
  if (task === null) return WORDS.byUnknown;
  if (!inHistory) return fill(WORDS.byForgotten, { id: task });
  return <a href={addressOf('tasks', String(task))}>{fill(WORDS.byTask, { id: task })}</a>;
}
