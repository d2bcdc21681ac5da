import { type FormEvent, useState } from 'react';
import { type Answer, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { type Resource, useResource } from '../api/use-resource.ts';
import { bytesText, countText, timeText } from '../format.ts';
import { Bar, Card, Choice, DoneNotice, Empty, Loaded, PageHead, ProblemNotice } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { parametersText } from '../parts/parameters-text.ts';
import { Gauge, Plot } from '../parts/plots.tsx';
import { addressOf } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import {
  changeOf,
  type Draft,
  draftOf,
  type Effect,
  effectsOf,
  isPositive,
  POLICIES,
  UNITS,
} from './quota-draft.ts';
import { LayerQuotas } from './quota-layers.tsx';
import { NumberField } from './quota-number.tsx';

type Usage = Answer<'/api/v1/usage'>;
type History = Answer<'/api/v1/evictions'>;

const WORDS = TEXTS.quota;
const REFRESH_SECONDS = 15;
const FREQUENCIES = ['SECONDS', 'MINUTES', 'HOURS', 'DAYS'] as const;

export default function QuotaPage() {
  const usage = useResource<Usage>('api/v1/usage', REFRESH_SECONDS);
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
            <QuotaForm usage={usage} data={data} />
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
          label={WORDS.evictions}
          from={timeText(history.from)}
          peak={(highest) => WORDS.peak(bytesText(highest))}
        />
      )}
    </>
  );
}

function QuotaForm({ usage, data }: { readonly usage: Resource<Usage>; readonly data: Usage }) {
  const caller = useCaller();
  const action = useAction();
  const [draft, setDraft] = useState<Draft>(() => draftOf(data.quota));
  const allowed = may(caller, 'admin');
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const valid =
    isPositive(draft.value) &&
    isPositive(draft.frequency) &&
    draft.layers.every(({ value }) => isPositive(value));
  const [asking, setAsking] = useState(false);
  const effects = effectsOf(draft, data);
  const save = () =>
    action.run(async () => {
      setDraft(draftOf(await send<Usage['quota']>('PUT', 'api/v1/quota', changeOf(draft))));
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
          <label className="check">
            <input
              type="checkbox"
              checked={draft.enabled}
              onChange={({ target }) => change({ enabled: target.checked })}
            />
            {WORDS.enabled}
          </label>
          <div className="form-grid">
            <NumberField label={WORDS.limit} value={draft.value} onChange={(value) => change({ value })} />
            <Choice
              label={WORDS.unit}
              value={draft.units}
              options={UNITS.map((unit) => [unit, unit])}
              onChange={(units) => change({ units })}
            />
            <Choice
              label={WORDS.policy}
              value={draft.policy}
              options={POLICIES.map((policy) => [policy, WORDS.policies[policy]])}
              onChange={(policy) => change({ policy })}
            />
            <NumberField
              label={WORDS.frequency}
              value={draft.frequency}
              onChange={(frequency) => change({ frequency })}
            />
            <Choice
              label={WORDS.unit}
              value={draft.frequencyUnits}
              options={FREQUENCIES.map((unit) => [unit, WORDS.units[unit]])}
              onChange={(frequencyUnits) => change({ frequencyUnits })}
            />
          </div>
          <LayerQuotas draft={draft} onChange={(layers) => change({ layers })} />
          <div aria-live="polite">
            <h3>{WORDS.effect}</h3>
            <Effects effects={effects} />
          </div>
          <ProblemNotice problem={action.problem} />
          <DoneNotice text={action.done} />
          <div className="row">
            <button type="submit" className="primary" disabled={!valid || action.busy}>
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
