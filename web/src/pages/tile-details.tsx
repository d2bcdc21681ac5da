import { useState } from 'react';
import { part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { agoText, bytesText, coordinateText, countText, percentText, timeText } from '../format.ts';
import type { TilePlace } from '../map/console-map.ts';
import { type TileSet, tileAddress, tileContentAddress, tileSetQuery } from '../map/tile-set.ts';
import { Fact, Loaded } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { TEXTS } from '../texts.ts';
import type { TileComparison, TileInfo } from './renew-tile.ts';
import { TileActions } from './tile-actions.tsx';

type Stored = NonNullable<TileInfo['stored']>;

const WORDS = TEXTS.inspect;

/** All that is known of one tile, and what can be done with it. */
export function TileDetails({ set, place }: { readonly set: TileSet; readonly place: TilePlace }) {
  const { z, x, y } = place;
  const path = `api/v1/layers/${part(set.layer.name)}/tiles/${part(set.gridSet.name)}/${z}/${x}/${y}`;
  const tile = useResource<TileInfo>(`${path}?${tileSetQuery(set)}`);
  const [comparison, setComparison] = useState<TileComparison | null>(null);
  /** When the tile that was removed had been stored: what is known of it is old until it is asked for again. */
  const [removed, setRemoved] = useState<string | null>(null);
  return (
    <section className="stack" aria-label={WORDS.picture(z, x, y)}>
      <h3>{WORDS.picture(z, x, y)}</h3>
      <Loaded resource={tile}>
        {(info) => (
          <>
            {comparison && <Comparison comparison={comparison} />}
            <div className="compare">
              {!comparison && <Picture set={set} info={info} gone={info.stored?.storedAt === removed} />}
              <Facts set={set} info={info} />
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

/** Shown only when it is stored, and as it is stored: looking must not make a tile. */
function Picture(props: { readonly set: TileSet; readonly info: TileInfo; readonly gone: boolean }) {
  const { set, info, gone } = props;
  if (!info.stored || gone) return <p className="notice">{WORDS.notStored}</p>;
  if (!info.format.startsWith('image/')) return <p className="notice">{info.format}</p>;
  const alt = WORDS.picture(info.z, info.x, info.y);
  const address = `${tileContentAddress(set, info)}&_=${part(info.stored.storedAt)}`;
  return (
    <figure>
      <img className="tile-picture" src={address} alt={alt} />
    </figure>
  );
}

function Comparison({ comparison }: { readonly comparison: TileComparison }) {
  const { before, after, same, difference } = comparison;
  return (
    <div className="stack">
      <div className="compare">
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
            under={WORDS.differenceShare(percentText(difference.share))}
          />
        )}
      </div>
      <p className="notice" role="status">
        {before && (same ? WORDS.same : WORDS.differ)} {WORDS.renewed}
      </p>
    </div>
  );
}

function Side(props: { readonly title: string; readonly address: string; readonly under: string }) {
  return (
    <figure>
      <img className="tile-picture" src={props.address} alt={props.title} />
      <figcaption>
        {props.title} <span className="quiet">{props.under}</span>
      </figcaption>
    </figure>
  );
}

function Facts({ set, info }: { readonly set: TileSet; readonly info: TileInfo }) {
  const { stored, page, metatile } = info;
  const address = tileAddress(set, info.z, info.x, info.y);
  return (
    <dl className="facts small">
      <Fact label={WORDS.key}>{keyText(info)}</Fact>
      {stored && <StoredFacts stored={stored} />}
      <Fact label={WORDS.bounds}>{info.bounds.map(coordinateText).join(', ')}</Fact>
      <Fact label={WORDS.page}>
        {page.x}/{page.y}:{' '}
        {page.lastUsedAt === null
          ? WORDS.pageUnused
          : WORDS.pageUses(countText(page.hits), agoText(page.lastUsedAt))}
      </Fact>
      {metatile && (
        <Fact label={WORDS.metatile}>
          {WORDS.metatileRange(`${metatile.minX}–${metatile.maxX}`, `${metatile.minY}–${metatile.maxY}`)}
        </Fact>
      )}
      <Fact label={WORDS.upstream}>
        <span className="mono">{info.upstream ?? WORDS.noUpstream}</span>
      </Fact>
      <Fact label={WORDS.address}>
        <a href={address} target="_blank" rel="noopener">
          {address}
        </a>
      </Fact>
    </dl>
  );
}

function keyText({ layer, gridSet, format, parameters, z, x, y }: TileInfo): string {
  const values = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
  return [layer, gridSet, format, ...values, `${z}/${x}/${y}`].join(' · ');
}

function StoredFacts({ stored }: { readonly stored: Stored }) {
  return (
    <>
      <Fact label={WORDS.size}>
        {bytesText(stored.bytes)} <span className="quiet">{WORDS.crc(stored.checksum)}</span>
      </Fact>
      <Fact label={WORDS.stored}>
        {timeText(stored.storedAt)} ({agoText(stored.storedAt)})
      </Fact>
      <Fact label={WORDS.madeBy}>
        <Maker madeBy={stored.madeBy} />
      </Fact>
      <Fact label={WORDS.expires}>
        {stored.expiresAt === null ? TEXTS.never : timeText(stored.expiresAt)}
        {stored.expired && ` (${WORDS.expired})`}
      </Fact>
    </>
  );
}

function Maker({ madeBy: { kind, task, inHistory } }: { readonly madeBy: Stored['madeBy'] }) {
  if (kind === 'request') return WORDS.byRequest;
  if (task === null) return WORDS.byUnknown;
  if (!inHistory) return WORDS.byForgotten(task);
  return <a href={addressOf('tasks', String(task))}>{WORDS.byTask(task)}</a>;
}
