import { useEffect, useState } from 'react';
import { type ApiResponse, fetchJson } from '../api/client.ts';
import { type Resource, reloadChanged, useAction, useApi, useResource } from '../api/use-resource.ts';
import { bytesText, fill, parametersText } from '../format.ts';
import {
  ActionNotices,
  Bar,
  Button,
  Card,
  Check,
  Choice,
  Empty,
  Form,
  Loaded,
  PageHead,
  TextField,
  tied,
} from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { type LayerFault, LayerField } from '../parts/layer-field.tsx';
import { Gauge, Plot } from '../parts/plots.tsx';
import { addressOf } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import {
  bodyOf,
  type Changes,
  type Draft,
  draftOf,
  type Effect,
  effectsOf,
  isPositive,
  isValid,
  isWhole,
  type LayerDraft,
  layersOf,
  POLICIES,
  type Quota,
  UNITS,
} from './quota-draft.ts';

type Usage = ApiResponse<'GET /api/v1/usage'>;
type History = ApiResponse<'GET /api/v1/evictions'>;

const WORDS = TEXTS.quota;
const REFRESH_SECONDS = 15;
const HOUR_MS = 3_600_000;
const FIRST: LayerDraft = { value: '1', units: 'GiB', policy: 'LFU' };

export default function QuotaPage() {
  const [evicting, setEvicting] = useState(false);
  const usage = useApi('/api/v1/usage', evicting ? 1 : REFRESH_SECONDS);
  useEffect(() => setEvicting((usage.data?.share ?? 0) > 1), [usage.data]);
  /** Shows usage every second after saving, because excess tiles are evicted within seconds. */
  const saved = () => {
    setEvicting(true);
    usage.reload();
  };
  const quota = useResource<Quota>('api/v1/quota', REFRESH_SECONDS);
  const history = useResource<History>('api/v1/evictions?days=7', REFRESH_SECONDS);
  return (
    <>
      <PageHead title={TEXTS.nav.quota} />
      <Loaded resource={usage}>
        {(data) => (
          <div className="grid">
            <Card title={WORDS.usage} className="span-4">
              <Gauge bytes={data.bytes} limit={data.quota.enabled ? data.quota.globalQuota.bytes : null} />
            </Card>
            <Card title={TEXTS.overview.layers} className="span-8">
              <UsageBars usage={data} />
            </Card>
            <QuotaForm usage={usage} quota={quota} onSaved={saved} />
            <Card title={WORDS.evictions}>
              <Evictions usage={data} history={history.data} />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
}

function UsageBars({ usage }: { usage: Usage }) {
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
                  {set.parametersId !== null && parametersText(set.parametersId, set.parameters, '')}
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

function Evictions({ usage, history }: { usage: Usage; history: History | null }) {
  const { tiles, bytes } = usage.evicted;
  if (tiles === 0) return <Empty>{WORDS.evictedNone}</Empty>;
  return (
    <>
      <p>{fill(WORDS.evicted, { count: tiles, bytes: bytesText(bytes) })}</p>
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

function QuotaForm(props: { usage: Resource<Usage>; quota: Resource<Quota>; onSaved: () => void }) {
  const { usage, quota, onSaved } = props;
  const allowed = may(useCaller(), 'admin');
  const action = useAction();
  const [changes, setChanges] = useState<Changes>({});
  const [asking, setAsking] = useState(false);
  if (!usage.data || !quota.data) return null;
  const draft = draftOf(quota.data, changes);
  const change = (more: Changes) => setChanges((before) => ({ ...before, ...more }));
  const changeLayer = (layer: string, limit: LayerDraft | null) =>
    setChanges((before) => ({ ...before, layers: { ...before.layers, [layer]: limit } }));
  const fields = tied(draft, change);
  const effects = effectsOf(draft, usage.data);
  const save = async () => {
    const put = fetchJson<Quota>('PUT', 'api/v1/quota', bodyOf(draft, changes), { version: quota.version });
    quota.replace(await put.catch(reloadChanged(quota.reload)));
    // Keeps what the user has typed during the save.
    setChanges((now) => (now === changes ? {} : now));
    onSaved();
    return WORDS.saved;
  };
  const removes = effects.some((effect) => effect.removes);
  return (
    <Card title={WORDS.limits}>
      <Form onSubmit={() => (removes ? setAsking(true) : action.run(save))}>
        <fieldset disabled={!allowed} className="stack">
          <legend className="visually-hidden">{WORDS.limits}</legend>
          {!allowed && (
            <p className="notice">{fill(TEXTS.needRole, { what: WORDS.limits, role: TEXTS.roles.admin })}</p>
          )}
          <Check label={WORDS.enabled} {...fields.check('enabled')} />
          <div className="form-grid tops">
            <LimitFields label={WORDS.limit} limit={draft} onChange={change} />
            <NumberField label={WORDS.frequency} whole {...fields.text('frequency')} />
            <Choice label={WORDS.unit} options={WORDS.units} {...fields.choice('frequencyUnits')} />
          </div>
          <p className="small quiet">{WORDS.policyHelp}</p>
          <LayerQuotas draft={draft} onChange={changeLayer} />
          <div aria-live="polite">
            <h3>{WORDS.effect}</h3>
            <Effects effects={effects} />
          </div>
          <ActionNotices action={action} />
          <div className="row">
            <Button
              type="submit"
              kind="primary"
              disabled={!isValid(draft) || action.busy || Object.keys(changes).length === 0}
            >
              {TEXTS.save}
            </Button>
          </div>
        </fieldset>
      </Form>
      {asking && (
        <Dialog
          title={WORDS.lowerTitle}
          verb={TEXTS.save}
          onConfirm={() => action.run(save)}
          onClose={() => setAsking(false)}
        >
          <div>
            <Effects effects={effects} />
            <p>{WORDS.lowerText}</p>
          </div>
        </Dialog>
      )}
    </Card>
  );
}

function Effects({ effects }: { effects: readonly Effect[] }) {
  return effects.map(({ text, removes }) => (
    <p key={text} className={`notice ${removes ? 'warn' : ''}`}>
      {text}
    </p>
  ));
}

function NumberField(props: {
  label: string;
  value: string;
  whole?: boolean;
  onText: (value: string) => void;
}) {
  const { whole, ...field } = props;
  const fits = whole ? isWhole : isPositive;
  const error = fits(field.value) ? null : whole ? WORDS.notWhole : WORDS.notPositive;
  return <TextField inputMode="decimal" error={error} {...field} />;
}

function LimitFields(props: {
  label: string;
  limit: LayerDraft;
  onChange: (changes: Partial<LayerDraft>) => void;
}) {
  const fields = tied(props.limit, props.onChange);
  return (
    <>
      <NumberField label={props.label} {...fields.text('value')} />
      <Choice
        label={WORDS.unit}
        options={UNITS.map((unit, place) => [unit, TEXTS.byteUnits[place] ?? unit])}
        {...fields.choice('units')}
      />
      <Choice label={WORDS.policy} options={POLICIES} {...fields.choice('policy')} />
    </>
  );
}

/** Limits of single layers, as part of the form. `onChange` receives a layer's new limit; null removes it. */
function LayerQuotas(props: { draft: Draft; onChange: (layer: string, limit: LayerDraft | null) => void }) {
  const [name, setName] = useState('');
  const [fault, setFault] = useState<LayerFault>(null);
  const layers = layersOf(props.draft);
  const add = () => {
    props.onChange(name, FIRST);
    setName('');
  };
  return (
    <div className="stack">
      <h3>{WORDS.layerQuotas}</h3>
      {layers.map(([layer, limit]) => (
        <div key={layer} className="form-grid">
          <LimitFields
            label={fill(WORDS.limitOf, { layer })}
            limit={limit}
            onChange={(changes) => props.onChange(layer, { ...limit, ...changes })}
          />
          <Button onClick={() => props.onChange(layer, null)}>{TEXTS.remove}</Button>
        </div>
      ))}
      <div className="row tops">
        <LayerField
          value={name}
          except={layers.map(([layer]) => layer)}
          fault={fault}
          onFault={setFault}
          onChange={setName}
        />
        <Button kind="beside-fields" disabled={name === '' || fault !== null} onClick={add}>
          {WORDS.addLayer}
        </Button>
      </div>
    </div>
  );
}
