import { useMemo, useState } from 'react';
import { type Answer, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { agoText, bytesText, countText, durationText, parametersText, timeText } from '../format.ts';
import { type LayerInfo, type TileSet, tileSetFrom, wishesOf } from '../map/tile-set.ts';
import { ActionNotices, Card, Empty, Fact, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { curl } from '../parts/curl.ts';
import { addressOf, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { Addresses } from './layer-addresses.tsx';
import { LayerBlankAreas } from './layer-blank-areas.tsx';
import { LayerChanges } from './layer-changes.tsx';
import { LayerExports } from './layer-exports.tsx';
import { LayerMap } from './layer-map.tsx';

type Usage = Answer<'/api/v1/usage'>;
type Emptying = { readonly tiles: number; readonly bytes: number };

const WORDS = TEXTS.layer;

export default function LayerPage({ name }: { readonly name: string }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(name)}`);
  const usage = useResource<Usage>('api/v1/usage', 30);
  return <Loaded resource={layer}>{(data) => <Content layer={data} usage={usage} />}</Loaded>;
}

function Content({
  layer,
  usage,
}: {
  readonly layer: LayerInfo;
  readonly usage: ReturnType<typeof useResource<Usage>>;
}) {
  const { query } = useRoute();
  const works = may(useCaller(), 'operator');
  const asked = useMemo(() => tileSetFrom(layer, query), [layer, query]);
  const [set, setSet] = useState<TileSet | null>(asked);
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
        actions={<Actions set={set} onEmptied={usage.reload} />}
      />
      {layer.failures > 0 && layer.lastFailure && (
        <p className="notice warn">
          {WORDS.failing(countText(layer.failures), layer.lastFailure.message, agoText(layer.lastFailure.at))}
        </p>
      )}
      {layer.description !== '' && <p className="quiet">{layer.description}</p>}
      <div className="grid">
        <LayerMap set={set} onChange={change} />
        <Card title={WORDS.sizes} className="span-6">
          {own ? <Sizes layer={own} /> : <Empty>{WORDS.noTiles}</Empty>}
        </Card>
        <Card title={WORDS.source} className="span-6">
          <Source layer={layer} />
        </Card>
        {works && (
          <>
            <LayerExports layer={layer.name} />
            <LayerBlankAreas layer={layer.name} />
          </>
        )}
        <Card title={WORDS.settings} className="span-12">
          <Settings layer={layer} />
        </Card>
        <Card title={WORDS.addresses} className="span-12">
          <Addresses set={set} />
        </Card>
      </div>
    </>
  );
}

function Sizes({ layer }: { readonly layer: Usage['layers'][number] }) {
  return (
    <Table
      label={WORDS.sizes}
      className="snug"
      head={[WORDS.gridSet, WORDS.format, WORDS.parameters, WORDS.tiles, WORDS.bytes]}
      numbers={[WORDS.tiles, WORDS.bytes]}
    >
      {layer.tileSets.map(({ gridSet, format, parametersId, parameters, tiles, bytes }) => (
        <tr key={`${gridSet} ${format} ${parametersId}`}>
          <td>{gridSet}</td>
          <td>{format}</td>
          <td title={parametersId ?? ''}>{parametersText(parametersId, parameters)}</td>
          <td className="number">{countText(tiles)}</td>
          <td className="number">{bytesText(bytes)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** `without` stands for 0 seconds. */
function expiryText(seconds: number, byZoom: LayerInfo['expireCacheByZoom'], without: string): string {
  const one = (given: number) => (given === 0 ? without : durationText(given));
  if (byZoom.length === 0) return one(seconds);
  return byZoom.map((rule) => WORDS.fromZoom(rule.minZoom, one(rule.seconds))).join(', ');
}

/** Each under its name, where there is something to say. */
function NamedFacts<Name extends string>(props: {
  readonly names: Readonly<Record<Name, string>>;
  readonly values: Readonly<Partial<Record<Name, string>>>;
}) {
  return (Object.keys(props.names) as Name[]).map((name) => (
    <Fact key={name} label={props.names[name]}>
      {props.values[name] || null}
    </Fact>
  ));
}

function Source({ layer: { source } }: { readonly layer: LayerInfo }) {
  return (
    <dl className="facts">
      <NamedFacts names={WORDS.sourceNames} values={source} />
    </dl>
  );
}

function Settings({ layer }: { readonly layer: LayerInfo }) {
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
    blankIsRight: yes(layer.blankIsRight),
    fullWms: yes(layer.fullWms),
    infoFormats: layer.infoFormats.join(', '),
  };
  return (
    <dl className="facts">
      <Fact label={WORDS.access}>{layer.access}</Fact>
      <Fact label={WORDS.expires}>
        {expiryText(layer.expireCacheSeconds ?? 0, layer.expireCacheByZoom, TEXTS.never)}
      </Fact>
      <Fact label={WORDS.clientExpires}>
        {expiryText(layer.expireClientsSeconds, layer.expireClientsByZoom, TEXTS.none)}
      </Fact>
      <NamedFacts names={WORDS.settingNames} values={values} />
      <Fact label={WORDS.changed}>
        {layer.changedAt === null
          ? TEXTS.unknown
          : `${timeText(layer.changedAt)} (${agoText(layer.changedAt)})`}
      </Fact>
      <Fact label={TEXTS.nav.tasks}>
        <a href={addressOf('tasks', '', { layer: layer.name })}>{WORDS.tasks}</a>
      </Fact>
    </dl>
  );
}

function Actions({ set, onEmptied }: { readonly set: TileSet; readonly onEmptied: () => void }) {
  const caller = useCaller();
  const action = useAction();
  const [amount, setAmount] = useState<Emptying | null>(null);
  if (!may(caller, 'operator')) return null;
  const { name } = set.layer;
  const truncate = (dryRun: boolean) =>
    send<Emptying>('POST', `api/v1/layers/${part(name)}/truncate`, { dryRun });
  const ask = () =>
    action.run(async () => {
      setAmount(await truncate(true));
      return null;
    });
  const empty = () =>
    action.run(async () => {
      const { tiles } = await truncate(false);
      onEmptied();
      return WORDS.emptied(countText(tiles));
    });
  return (
    <>
      <ActionNotices action={action} />
      <a className="button primary" href={addressOf('seed', name, wishesOf(set))}>
        {WORDS.seed}
      </a>
      <LayerChanges layer={set.layer} />
      <button type="button" className="danger" disabled={action.busy} onClick={() => void ask()}>
        {WORDS.empty}
      </button>
      {amount && (
        <Confirm
          title={WORDS.emptyTitle(name)}
          action={WORDS.emptyTitle(name)}
          name={name}
          command={curl('POST', `api/v1/layers/${part(name)}/truncate`, {})}
          onConfirm={() => void empty()}
          onClose={() => setAmount(null)}
        >
          {WORDS.emptyText(countText(amount.tiles), bytesText(amount.bytes))}
        </Confirm>
      )}
    </>
  );
}
