import { useState } from 'react';
import type { Answer } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { Choice, Field } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { type Draft, type LayerDraft, POLICIES, UNITS } from './quota-draft.ts';
import { NumberField } from './quota-number.tsx';

const WORDS = TEXTS.quota;

/** Limits of single layers, as part of the form. */
export function LayerQuotas({
  draft: { layers },
  onChange,
}: {
  readonly draft: Draft;
  readonly onChange: (layers: readonly LayerDraft[]) => void;
}) {
  const change = (place: number, changes: Partial<LayerDraft>) =>
    onChange(layers.map((entry, at) => (at === place ? { ...entry, ...changes } : entry)));
  return (
    <div className="stack">
      <h3>{WORDS.layerQuotas}</h3>
      {layers.map((entry, place) => (
        <div key={entry.layer} className="form-grid">
          <NumberField
            label={WORDS.limitOf(entry.layer)}
            value={entry.value}
            onChange={(value) => change(place, { value })}
          />
          <Choice
            label={WORDS.unit}
            value={entry.units}
            options={UNITS.map((unit) => [unit, unit])}
            onChange={(units) => change(place, { units })}
          />
          <Choice
            label={WORDS.policy}
            value={entry.policy}
            options={POLICIES.map((policy) => [policy, WORDS.policies[policy]])}
            onChange={(policy) => change(place, { policy })}
          />
          <button type="button" onClick={() => onChange(layers.filter((_, at) => at !== place))}>
            {TEXTS.remove}
          </button>
        </div>
      ))}
      <AddLayer taken={layers.map(({ layer }) => layer)} onAdd={(entry) => onChange([...layers, entry])} />
    </div>
  );
}

function AddLayer(props: { readonly taken: readonly string[]; readonly onAdd: (entry: LayerDraft) => void }) {
  const [name, setName] = useState('');
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers');
  const free = (layers.data?.layers ?? []).filter((layer) => !props.taken.includes(layer.name));
  const known = free.some((layer) => layer.name === name);
  const add = () => {
    props.onAdd({ layer: name, value: '1', units: 'GiB', policy: 'LFU' });
    setName('');
  };
  return (
    <div className="row">
      <Field label={TEXTS.tasks.layer}>
        <input list="quota-layers" value={name} onChange={({ target }) => setName(target.value)} />
      </Field>
      <datalist id="quota-layers">
        {free.slice(0, 200).map((layer) => (
          <option key={layer.name} value={layer.name} />
        ))}
      </datalist>
      <button type="button" disabled={!known} onClick={add}>
        {WORDS.addLayer}
      </button>
    </div>
  );
}
