import { useMemo, useState } from 'react';
import type { Hint } from '../../../src/http/pages/client-snippets.ts';
import { type ApiResponse, curl, get, part, send } from '../api/client.ts';
import { type Resource, useAction, useApi, useResource } from '../api/use-resource.ts';
import {
  agoText,
  bytesText,
  countText,
  durationText,
  failureText,
  fill,
  parametersText,
  sinceText,
  timeText,
  valuesText,
} from '../format.ts';
import { type LayerInfo, type TileSet, tileSetFrom, tileSetQuery, wishesOf } from '../map/tile-set.ts';
import {
  ActionNotices,
  Button,
  Card,
  Copy,
  Empty,
  type Fact,
  Facts,
  LinkButton,
  Loaded,
  PageHead,
  ProblemNotice,
  Table,
} from '../parts/basics.tsx';
import { ConfirmButton, paragraphs } from '../parts/dialog.tsx';
import { type Seeds, seedsAddress, seedsText } from '../parts/task-parts.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, mayWorkOn, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { LayerExports } from './layer-exports.tsx';
import { LayerMap } from './layer-map.tsx';
import { enableLayer } from './layer-selection.tsx';
import { firstZooms } from './work-plan.ts';

type Usage = ApiResponse<'GET /api/v1/usage'>;
type Removal = ApiResponse<'DELETE /api/v1/layers/{layer}'>;

const WORDS = TEXTS.layer;

export default function LayerPage({ name }: { name: string }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(name)}`);
  const usage = useApi('/api/v1/usage', 30);
  return (
    <Loaded resource={layer}>
      {(data) => <Content layer={data} usage={usage} onChanged={layer.reload} />}
    </Loaded>
  );
}

function Content(props: { layer: LayerInfo; usage: Resource<Usage>; onChanged: () => void }) {
  const { layer, usage } = props;
  const { query } = useRoute();
  const works = mayWorkOn(useCaller(), layer.name);
  const current = useMemo(() => tileSetFrom(layer, query), [layer, query]);
  const [set, setSet] = useState<TileSet | null>(current);
  if (!set) return <Empty>{TEXTS.layers.empty}</Empty>;
  const change = (changed: TileSet) => {
    setSet(changed);
    history.replaceState(null, '', addressOf('layers', layer.name, wishesOf(changed)));
  };
  const own = usage.data?.layers.find(({ name }) => name === layer.name) ?? null;
  return (
    <>
      <PageHead
        title={layer.title || layer.name}
        under={layer.title === layer.name ? undefined : layer.name}
        actions={<Actions set={set} layer={layer} onEmptied={usage.reload} onChanged={props.onChanged} />}
      />
      {!layer.enabled && <p className="notice warn">{WORDS.isDisabled}</p>}
      <Failures layer={layer} />
      {layer.description !== '' && <p className="quiet">{layer.description}</p>}
      <div className="grid">
        <LayerMap set={set} onChange={change} />
        <Card title={WORDS.addresses}>
          <Addresses set={set} />
        </Card>
        <Card title={WORDS.sizes} className="span-7">
          {own ? <Sizes layer={own} defaults={defaultsOf(layer)} /> : <Empty>{WORDS.noTiles}</Empty>}
        </Card>
        <Card title={WORDS.source} className="span-5">
          <Facts of={namedFacts(WORDS.sourceNames, layer.source)} />
        </Card>
        {works && <LayerExports layer={layer.name} />}
        <Card title={WORDS.settings}>
          <Settings layer={layer} />
        </Card>
      </div>
    </>
  );
}

function Failures({ layer: { failures, failuresSince, lastFailure } }: { layer: LayerInfo }) {
  if (failures === 0 || !lastFailure) return null;
  return (
    <p className="notice warn">
      {fill(WORDS.failing, {
        count: failures,
        since: sinceText(failuresSince),
        message: failureText(lastFailure),
        ago: agoText(lastFailure.at),
      })}
    </p>
  );
}

function defaultsOf({ parameters }: LayerInfo): string {
  return valuesText(Object.fromEntries(parameters.map(({ name, default: usual }) => [name, usual])));
}

function Sizes({ layer, defaults }: { layer: Usage['layers'][number]; defaults: string }) {
  return (
    <Table
      label={WORDS.sizes}
      className="snug"
      head={[WORDS.gridSet, WORDS.format, WORDS.parameters, WORDS.tiles, WORDS.bytes]}
      numbers={2}
      rows={layer.tileSets.map(({ gridSet, format, parametersId, parameters, tiles, bytes }) => {
        const values = (
          <span key="values" title={parametersId ?? ''}>
            {parametersText(parametersId, parameters, defaults)}
          </span>
        );
        const key = `${gridSet} ${format} ${parametersId}`;
        return [key, gridSet, format, values, countText(tiles), bytesText(bytes)];
      })}
    />
  );
}

/** Times of expiry, by zoom if they differ. `without` is the text for 0 seconds. */
function expiryText(seconds: number, byZoom: LayerInfo['expireCacheByZoom'], without: string): string {
  const one = (given: number) => (given === 0 ? without : durationText(given));
  if (byZoom.length === 0) return one(seconds);
  return byZoom
    .map((rule) => fill(WORDS.fromZoom, { zoom: rule.minZoom, time: one(rule.seconds) }))
    .join(', ');
}

/** Facts with these names, without empty values. */
function namedFacts<Name extends string>(
  names: Readonly<Record<Name, string>>,
  values: Readonly<Partial<Record<Name, string>>>,
): Fact[] {
  return (Object.keys(names) as Name[]).map((name) => [names[name], values[name] || null]);
}

function Settings({ layer }: { layer: LayerInfo }) {
  const yes = (value: boolean) => (value ? TEXTS.yes : TEXTS.no);
  const values = {
    store: layer.store ?? '',
    adopts: layer.adopts.join(', '),
    attribution: layer.attribution,
    metatile: layer.metatile.join(' × '),
    gutter: String(layer.gutter),
    followSource: yes(layer.followSource),
    staleWhileRevalidateSeconds: expiryText(layer.staleWhileRevalidateSeconds, [], TEXTS.none),
    staleIfErrorSeconds: expiryText(layer.staleIfErrorSeconds, [], TEXTS.none),
    outside: layer.outside ?? WORDS.byStandard,
    fullWms: yes(layer.fullWms),
    infoFormats: layer.infoFormats.join(', '),
  };
  const { expireCacheSeconds, expireCacheByZoom, expireClientsSeconds, expireClientsByZoom, changedAt } =
    layer;
  const changed = changedAt === null ? TEXTS.unknown : `${timeText(changedAt)} (${agoText(changedAt)})`;
  const tasks = <a href={addressOf('tasks', '', { layer: layer.name })}>{WORDS.tasks}</a>;
  return (
    <Facts
      of={[
        [WORDS.access, layer.access],
        [WORDS.expires, expiryText(expireCacheSeconds ?? 0, expireCacheByZoom, TEXTS.never)],
        [WORDS.clientExpires, expiryText(expireClientsSeconds, expireClientsByZoom, WORDS.notSent)],
        ...namedFacts(WORDS.settingNames, values),
        [WORDS.changed, changed],
        [TEXTS.nav.tasks, tasks],
        [TEXTS.nav.schedules, <Schedules key="schedules" layer={layer.name} />],
      ]}
    />
  );
}

function Schedules({ layer }: { layer: string }) {
  const known = useApi('/api/v1/schedules');
  const own = known.data?.schedules.filter((one) => one.layer === layer) ?? [];
  if (own.length === 0) return TEXTS.none;
  return own.map(({ id, name }) => (
    <a key={id} className="block" href={addressOf('schedules', String(id))}>
      {name}
    </a>
  ));
}

function Actions(props: { set: TileSet; layer: LayerInfo; onEmptied: () => void; onChanged: () => void }) {
  const { set, layer, onEmptied, onChanged } = props;
  const caller = useCaller();
  const action = useAction();
  const { name } = layer;
  if (!may(caller, 'operator')) return null;
  if (!mayWorkOn(caller, name)) return <span className="quiet">{TEXTS.notYours}</span>;
  const path = `api/v1/layers/${part(name)}/truncate`;
  const truncate = (dryRun: boolean) =>
    send<ApiResponse<'POST /api/v1/layers/{layer}/truncate'>>('POST', path, { dryRun });
  const question = async () => {
    const { tiles, bytes } = await truncate(true);
    const seeds = seedsText(await get<Seeds>(seedsAddress(name)));
    return paragraphs([fill(WORDS.emptyText, { count: tiles, bytes: bytesText(bytes) }), seeds]);
  };
  const empty = async () => {
    const { tiles } = await truncate(false);
    onEmptied();
    return fill(WORDS.emptied, { count: tiles });
  };
  return (
    <>
      <ActionNotices action={action} />
      <LinkButton kind="primary" href={addressOf('seed', name, wishesOf(set))}>
        {WORDS.seed}
      </LinkButton>
      {may(caller, 'admin') && <DeclarationActions layer={layer} onChanged={onChanged} />}
      <ConfirmButton
        action={action}
        title={fill(WORDS.emptyTitle, { name })}
        verb={fill(WORDS.emptyTitle, { name })}
        name={name}
        command={curl('POST', path, {})}
        text={question}
        onConfirm={empty}
      >
        {WORDS.empty}
      </ConfirmButton>
    </>
  );
}

/** Lists what is deleted with the layer, and what fails without it. */
async function removalText(path: string) {
  const { tiles, dependents } = await send<Removal>('DELETE', `${path}?dryRun=true`);
  const { feeds, keys, schedules, tasks, quota } = dependents;
  const named = (names: readonly string[], text: string) =>
    names.length === 0 ? null : fill(text, { names: names.join(', ') });
  return paragraphs([
    fill(WORDS.removeText, { count: tiles.affected, bytes: bytesText(tiles.bytes) }),
    tasks === 0 ? null : fill(WORDS.removeTasks, { count: tasks }),
    named(schedules, WORDS.removeSchedules),
    quota ? WORDS.removeQuota : null,
    named(feeds, WORDS.removeFeeds),
    named(keys, WORDS.removeKeys),
    WORDS.removeUndo,
  ]);
}

/** Buttons for the declaration; that of the configuration file can only be copied. */
function DeclarationActions({ layer, onChanged }: { layer: LayerInfo; onChanged: () => void }) {
  const action = useAction();
  const { enabled } = layer;
  const path = `api/v1/layers/${part(layer.name)}`;
  const toggled = (document: unknown) => ({ ...(document as object), enabled: !enabled });
  const toggle = () => enableLayer(layer.name, !enabled).then(onChanged);
  const copy = <LinkButton href={addressOf('add', '', { copy: layer.name })}>{WORDS.copy}</LinkButton>;
  if (layer.origin === 'file') return copy;
  return (
    <>
      <ProblemNotice problem={action.problem} />
      <LinkButton href={addressOf('add', layer.name)}>{WORDS.edit}</LinkButton>
      {copy}
      {enabled ? (
        <ConfirmButton
          action={action}
          title={fill(WORDS.disableTitle, { name: layer.name })}
          verb={TEXTS.disable}
          command={curl('PUT', path, toggled(layer.document))}
          text={WORDS.disableText}
          onConfirm={toggle}
        />
      ) : (
        <Button
          title={curl('PUT', path, toggled(layer.document))}
          disabled={action.busy}
          onClick={() => action.run(toggle)}
        >
          {TEXTS.enable}
        </Button>
      )}
      <ConfirmButton
        action={action}
        title={fill(WORDS.removeTitle, { name: layer.name })}
        verb={fill(WORDS.removeTitle, { name: layer.name })}
        name={layer.name}
        command={curl('DELETE', path)}
        text={() => removalText(path)}
        onConfirm={() => send('DELETE', path).then(() => goTo(addressOf('layers')))}
      >
        {WORDS.remove}
      </ConfirmButton>
    </>
  );
}

/** Addresses of the layer to paste into map clients. */
function Addresses({ set }: { set: TileSet }) {
  const path = `api/v1/layers/${part(set.layer.name)}/clients/${part(set.gridSet.name)}`;
  const known = useResource<ApiResponse<'GET /api/v1/layers/{layer}/clients/{gridSet}'>>(
    `${path}?${tileSetQuery(set)}`,
  );
  // The server's address as this browser uses it: the server may be behind a proxy.
  const base = new URL('.', location.href.split('#')[0]).href.replace(/\/$/, '');
  return (
    <>
      {set.layer.access !== 'public' && <p className="notice">{WORDS.closedLayer}</p>}
      <Loaded resource={known}>
        {(data) =>
          data.clients.map(({ id, client, hint, text }, place) => (
            <details key={id} open={place === 0}>
              <summary>{WORDS.clientNames[id as keyof typeof WORDS.clientNames] ?? client}</summary>
              <p className="small quiet">{WORDS.clientHints[hint as Hint]}</p>
              <Copy label={client} text={text.replaceAll(data.base, base)} />
            </details>
          ))
        }
      </Loaded>
      <Copy folded label={WORDS.curlSeed} text={curl('POST', 'api/v1/tasks', seedOf(set))} />
    </>
  );
}

/** A quick seed, of the first zooms. */
function seedOf({ layer, gridSet, format, parameters }: TileSet): object {
  const [zoomStart, zoomStop] = firstZooms(gridSet);
  return {
    layer: layer.name,
    type: 'seed',
    gridSet: gridSet.name,
    format,
    parameters,
    zoomStart,
    zoomStop,
  };
}
