import { type FormEvent, useState } from 'react';
import { type Answer, Problem, problemFrom, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { type Resource, useResource } from '../api/use-resource.ts';
import { bytesText, countText, parametersText } from '../format.ts';
import { ActionNotices, Bar, Card, Check, Choice, Empty, Loaded, PageHead } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Gauge, Plot } from '../parts/plots.tsx';
import { addressOf } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import {
  bodyOf,
  type Changes,
  draftOf,
  type Effect,
  effectsOf,
  isValid,
  type LayerDraft,
  type Quota,
} from './quota-draft.ts';
import { LayerQuotas, LimitFields, NumberField } from './quota-layers.tsx';

type Usage = Answer<'/api/v1/usage'>;
type History = Answer<'/api/v1/evictions'>;

const WORDS = TEXTS.quota;
const REFRESH_SECONDS = 15;
const HOUR_MS = 3_600_000;
const FREQUENCIES = ['SECONDS', 'MINUTES', 'HOURS', 'DAYS'] as const;

export default function QuotaPage() {
  const usage = useResource<Usage>('api/v1/usage', REFRESH_SECONDS);
  const quota = useResource<Quota>('api/v1/quota', REFRESH_SECONDS);
  const history = useResource<History>('api/v1/evictions?days=7', REFRESH_SECONDS);
  return (
    <>
      <PageHead title={WORDS.title} />
      <Loaded resource={usage}>
        {(data) => (
          <div className="grid">
            <Card title={WORDS.usage} className="span-4">
              <Gauge bytes={data.bytes} limit={data.quota.enabled ? data.quota.globalQuota.bytes : null} />
            </Card>
            <Card title={TEXTS.overview.layers} className="span-8">
              <UsageBars usage={data} />
            </Card>
            <QuotaForm usage={usage} quota={quota} />
            <Card title={WORDS.evictions} className="span-12">
              <Evictions usage={data} history={history.data} />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
}

function UsageBars({ usage }: { readonly usage: Usage }) {
  const layers = [...usage.layers].sort((a, b) => b.bytes - a.bytes);
  const most = layers[0]?.bytes ?? 1;
  if (layers.length === 0) return <Empty>{TEXTS.overview.empty}</Empty>;
  return (
    <>
      {layers.slice(0, 50).map((layer) => (
        <details key={layer.name}>
          <summary>
            <span className="usage-line">
              <span title={layer.name}>{layer.name}</span>
              <Bar
                share={layer.quota === null ? layer.bytes / most : (layer.share ?? 0)}
                label={layer.name}
                kind={(layer.share ?? 0) > 0.95 ? 'bad' : ''}
              />
              <span className="number">
                {bytesText(layer.bytes)}
                {layer.quota !== null && <span className="quiet"> / {bytesText(layer.quota)}</span>}
              </span>
            </span>
          </summary>
          <ul className="lines small">
            {layer.tileSets.map((set) => (
              <li key={`${set.gridSet} ${set.format} ${set.parametersId}`} className="usage-line">
                <span>
                  {set.gridSet} {set.format}{' '}
                  {set.parametersId !== null && parametersText(set.parametersId, set.parameters)}
                </span>
                <Bar share={set.bytes / Math.max(1, layer.bytes)} label={`${set.gridSet} ${set.format}`} />
                <span className="number">{bytesText(set.bytes)}</span>
              </li>
            ))}
            <li>
              <a href={addressOf('layers', layer.name)}>{TEXTS.layer.map}</a>
            </li>
          </ul>
        </details>
      ))}
    </>
  );
}

function Evictions({ usage, history }: { readonly usage: Usage; readonly history: History | null }) {
  const { tiles, bytes } = usage.evicted;
  if (tiles === 0) return <Empty>{WORDS.evictedNone}</Empty>;
  return (
    <>
      <p>{WORDS.evicted(countText(tiles), bytesText(bytes))}</p>
      {history?.bytes.some((value) => value > 0) && (
        <Plot
          lines={[{ name: WORDS.evictions, values: history.bytes }]}
          label={WORDS.evictionPlot}
          times={history.bytes.map((_, hour) => Date.parse(history.from) + hour * HOUR_MS)}
          text={bytesText}
        />
      )}
    </>
  );
}

function QuotaForm({ usage, quota }: { readonly usage: Resource<Usage>; readonly quota: Resource<Quota> }) {
  const allowed = may(useCaller(), 'admin');
  const action = useAction();
  const [changes, setChanges] = useState<Changes>({});
  const [asking, setAsking] = useState(false);
  if (!usage.data || !quota.data) return null;
  const draft = draftOf(quota.data, changes);
  const change = (more: Changes) => setChanges((before) => ({ ...before, ...more }));
  const changeLayer = (layer: string, limit: LayerDraft | null) =>
    setChanges((before) => ({ ...before, layers: { ...before.layers, [layer]: limit } }));
  const effects = effectsOf(draft, usage.data);
  const save = () =>
    action.run(async () => {
      try {
        await send('PUT', 'api/v1/quota', bodyOf(draft, changes), { version: quota.version });
      } catch (error) {
        const { status, requestId } = problemFrom(error);
        if (status !== 412) throw error;
        quota.reload();
        throw new Problem(WORDS.changedMeanwhile, status, requestId);
      }
      setChanges({});
      quota.reload();
      usage.reload();
      return WORDS.saved;
    });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (effects.some(({ removes }) => removes)) setAsking(true);
    else void save();
  };
  return (
    <Card title={WORDS.limits} className="span-12">
      <form onSubmit={submit}>
        <fieldset disabled={!allowed} className="stack">
          <legend className="visually-hidden">{WORDS.limits}</legend>
          {!allowed && <p className="notice">{WORDS.needAdmin}</p>}
          <Check label={WORDS.enabled} checked={draft.enabled} onChange={(enabled) => change({ enabled })} />
          <div className="form-grid tops">
            <LimitFields label={WORDS.limit} limit={draft} onChange={change} />
            <NumberField
              label={WORDS.frequency}
              value={draft.frequency}
              whole
              onChange={(frequency) => change({ frequency })}
            />
            <Choice
              label={WORDS.unit}
              value={draft.frequencyUnits}
              options={FREQUENCIES.map((unit) => [unit, WORDS.units[unit]])}
              onChange={(frequencyUnits) => change({ frequencyUnits })}
            />
          </div>
          <p className="small quiet">{WORDS.policyHelp}</p>
          <LayerQuotas draft={draft} onChange={changeLayer} />
          <div aria-live="polite">
            <h3>{WORDS.effect}</h3>
            <Effects effects={effects} />
          </div>
          <ActionNotices action={action} />
          <div className="row">
            <button
              type="submit"
              className="primary"
              disabled={!isValid(draft) || action.busy || Object.keys(changes).length === 0}
            >
              {TEXTS.save}
            </button>
          </div>
        </fieldset>
      </form>
      {asking && (
        <Confirm
          title={WORDS.lowerTitle}
          action={TEXTS.save}
          onConfirm={() => void save()}
          onClose={() => setAsking(false)}
        >
          <Effects effects={effects} />
          <p>{WORDS.lowerText}</p>
        </Confirm>
      )}
    </Card>
  );
}

function Effects({ effects }: { readonly effects: readonly Effect[] }) {
  return effects.map(({ text, removes }) => (
    <p key={text} className={`notice ${removes ? 'warn' : ''}`}>
      {text}
    </p>
  ));
}
