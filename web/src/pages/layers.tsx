import { lazy, useDeferredValue, useMemo, useState } from 'react';
import { type ApiResponse, curl, part, RELOAD_FORM, reloadConfiguration } from '../api/client.ts';
import { useAction, useApi } from '../api/use-resource.ts';
import { agoText, bytesText, countText, failureText, fill, sinceText, timeText } from '../format.ts';
import {
  ActionNotices,
  Button,
  Check,
  Choice,
  Empty,
  Input,
  LinkButton,
  Loaded,
  Mark,
  PageHead,
} from '../parts/basics.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { addressOf, changeQuery, useRoute } from '../route.ts';
import { may, mayWorkOn, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { LayerSelection } from './layer-selection.tsx';

const LayerPage = lazy(() => import('./layer.tsx'));

type LayerSummary = ApiResponse<'GET /api/v1/layers'>['layers'][number];
type LayerUsage = ApiResponse<'GET /api/v1/usage'>['layers'][number];

interface LayerRow {
  readonly layer: LayerSummary;
  readonly usage: LayerUsage | null;
}

const WORDS = TEXTS.layers;
const ROW_HEIGHT = 58;
const REFRESH_SECONDS = 30;
const ORDERS = ['declared', 'name', 'changed', 'size', 'failures'] as const;

export default function Layers() {
  const { item } = useRoute();
  return item === '' ? <LayerList /> : <LayerPage key={item} name={item} />;
}

function LayerList() {
  const layers = useApi('/api/v1/layers', REFRESH_SECONDS);
  const usage = useApi('/api/v1/usage', REFRESH_SECONDS);
  const rows = useMemo(() => {
    const sizes = new Map(usage.data?.layers.map((layer) => [layer.name, layer]));
    return layers.data?.layers.map((layer) => ({ layer, usage: sizes.get(layer.name) ?? null })) ?? [];
  }, [layers.data, usage.data]);
  const reload = () => {
    layers.reload();
    usage.reload();
  };
  return (
    <>
      <PageHead title={TEXTS.nav.layers} actions={<Actions onReloaded={layers.reload} />} />
      <Loaded resource={layers}>
        {() => (rows.length === 0 ? <Empty>{WORDS.empty}</Empty> : <Found rows={rows} onChanged={reload} />)}
      </Loaded>
    </>
  );
}

function Actions({ onReloaded }: { onReloaded: () => void }) {
  const action = useAction();
  if (!may(useCaller(), 'admin')) return null;
  const reload = async () => {
    const reloaded = await reloadConfiguration();
    onReloaded();
    return reloaded;
  };
  return (
    <>
      <ActionNotices action={action} />
      <Button
        title={curl('POST', 'rest/reload', RELOAD_FORM)}
        disabled={action.busy}
        onClick={() => action.run(reload)}
      >
        {WORDS.reload}
      </Button>
      <LinkButton kind="primary" href={addressOf('add')}>
        {TEXTS.nav.add}
      </LinkButton>
    </>
  );
}

/** The layers that match `#/layers?search=…&order=…&failing=1`. */
function Found({ rows, onChanged }: { rows: readonly LayerRow[]; onChanged: () => void }) {
  const { query } = useRoute();
  const caller = useCaller();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const text = query.get('search') ?? '';
  const order = ORDERS.find((name) => name === query.get('order')) ?? 'declared';
  const onlyFailing = query.has('failing');
  const since = sinceText(rows[0]?.layer.failuresSince ?? null);
  const words = useDeferredValue(text).trim().toLowerCase();
  const matches = useMemo(() => {
    const matches = rows.filter(
      ({ layer }) =>
        (!onlyFailing || layer.failures > 0) && `${layer.name}\n${layer.title}`.toLowerCase().includes(words),
    );
    return matches.sort(COMPARE[order]);
  }, [rows, words, onlyFailing, order]);
  const works = ({ layer }: LayerRow) => mayWorkOn(caller, layer.name);
  const lines = matches.map((row) => ({ row, on: works(row) ? chosen.has(row.layer.name) : null }));
  const choose = (name: string, on: boolean) =>
    setChosen((before) => new Set(on ? [...before, name] : [...before].filter((one) => one !== name)));
  const failing = rows.filter(({ layer }) => layer.failures > 0).length;
  return (
    <div className="stack">
      <div className="row">
        <Input label={WORDS.search} type="search" value={text} onText={(search) => changeQuery({ search })} />
        <Choice
          label={WORDS.order}
          value={order}
          options={WORDS.orders}
          onChange={(chosen) => changeQuery({ order: chosen === 'declared' ? '' : chosen })}
        />
        <Check
          label={fill(WORDS.onlyFailing, { since, count: failing })}
          checked={onlyFailing}
          onChange={(checked) => changeQuery({ failing: checked ? '1' : '' })}
        />
        <span className="quiet" role="status">
          {fill(TEXTS.outOf, { some: countText(matches.length), all: countText(rows.length) })}
        </span>
      </div>
      {matches.length === 0 && (
        <Empty>{onlyFailing ? fill(WORDS.noneFails, { since }) : WORDS.noMatch}</Empty>
      )}
      <LayerSelection
        layers={rows.filter(({ layer }) => chosen.has(layer.name)).map(chosenLayer)}
        listed={matches.filter(works).map(({ layer }) => layer.name)}
        onChoose={(names) => setChosen(new Set(names))}
        onDone={onChanged}
      />
      <VirtualList
        items={lines}
        rowHeight={ROW_HEIGHT}
        label={WORDS.list}
        keyOf={({ row }) => row.layer.name}
      >
        {({ row, on }) => (
          <div className="marked-line">
            {on !== null && (
              <Mark
                label={fill(WORDS.several.choose, { name: row.layer.name })}
                checked={on}
                onChange={(checked) => choose(row.layer.name, checked)}
              />
            )}
            <LayerLine row={row} />
          </div>
        )}
      </VirtualList>
    </div>
  );
}

function LayerLine({ row: { layer, usage } }: { row: LayerRow }) {
  const picture = pictureOf(layer, usage);
  return (
    <a className="layer-line" href={addressOf('layers', layer.name)}>
      {picture === null ? (
        <span className="no-picture" />
      ) : (
        <img src={picture} alt="" loading="lazy" width={40} height={40} />
      )}
      <span className="cut" title={`${titleOf(layer)} ${layer.name}`}>
        {!layer.enabled && <span className="badge">{TEXTS.schedules.off}</span>}{' '}
        <strong className="name">{titleOf(layer)}</strong>
        {layer.title !== '' && layer.title !== layer.name && (
          <span className="small quiet"> {layer.name}</span>
        )}
        <span className="small quiet formats">
          <br />
          {layer.gridSets.join(', ')}
        </span>
      </span>
      <FailureMark layer={layer} />
      <span className="small quiet changed" title={layer.changedAt ? timeText(layer.changedAt) : ''}>
        {layer.changedAt && fill(WORDS.changed, { ago: agoText(layer.changedAt) })}
      </span>
      <span className="number">
        {usage ? bytesText(usage.bytes) : <span className="quiet">{WORDS.notCached}</span>}
        <br />
        <span className="small quiet">{usage && fill(TEXTS.overview.tiles, { count: usage.tiles })}</span>
      </span>
    </a>
  );
}

function chosenLayer({ layer: { name, enabled }, usage }: LayerRow) {
  return { name, enabled, tiles: usage?.tiles ?? 0, bytes: usage?.bytes ?? 0 };
}

const COMPARE: Readonly<Record<(typeof ORDERS)[number], (a: LayerRow, b: LayerRow) => number>> = {
  declared: () => 0,
  name: (a, b) => compareTexts(titleOf(a.layer), titleOf(b.layer)),
  changed: (a, b) => compareTexts(b.layer.changedAt ?? '', a.layer.changedAt ?? ''),
  size: (a, b) => (b.usage?.bytes ?? 0) - (a.usage?.bytes ?? 0),
  failures: (a, b) =>
    b.layer.failures - a.layer.failures ||
    compareTexts(b.layer.lastFailure?.at ?? '', a.layer.lastFailure?.at ?? ''),
};

function titleOf({ title, name }: LayerSummary): string {
  return title || name;
}

/** Used instead of `localeCompare`, which takes a second for thousands of names. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function FailureMark({ layer: { failures, lastFailure } }: { layer: LayerSummary }) {
  if (failures === 0 || lastFailure === null) return <span className="trouble" />;
  const text = `${failureText(lastFailure)} ${agoText(lastFailure.at)}`;
  return (
    <span className="small trouble" title={text}>
      <strong className="bad">{fill(TEXTS.overview.failures, { count: failures })}</strong>
      <br />
      <span className="quiet">{text}</span>
    </span>
  );
}

/** The address of a cached tile of zoom 0; null if none is cached, because a list of layers must not make tiles. */
function pictureOf(layer: LayerSummary, usage: LayerUsage | null): string | null {
  const set = usage?.tileSets.find(
    ({ parametersId, format, zooms }) =>
      parametersId === null &&
      format.startsWith('image/') &&
      zooms.some(({ z, tiles }) => z === 0 && tiles > 0),
  );
  if (!set) return null;
  const query = new URLSearchParams({ format: set.format });
  return `api/v1/layers/${part(layer.name)}/tiles/${part(set.gridSet)}/0/0/0/content?${query}`;
}
