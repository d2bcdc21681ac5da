import { useState } from 'react';
import { Choice, TextField } from '../parts/basics.tsx';
import { LayerField } from '../parts/layer-field.tsx';
import { TEXTS } from '../texts.ts';
import {
  type Draft,
  isPositive,
  isWhole,
  type LayerDraft,
  layersOf,
  POLICIES,
  UNITS,
} from './quota-draft.ts';

const WORDS = TEXTS.quota;
const FIRST: LayerDraft = { value: '1', units: 'GiB', policy: 'LFU' };

export function NumberField(props: {
  readonly label: string;
  readonly value: string;
  readonly whole?: boolean;
  readonly onChange: (value: string) => void;
}) {
  const fits = props.whole ? isWhole : isPositive;
  return (
    <TextField
      label={props.label}
      inputMode="decimal"
      value={props.value}
      error={fits(props.value) ? null : props.whole ? WORDS.notWhole : WORDS.notPositive}
      onChange={({ target }) => props.onChange(target.value)}
    />
  );
}

/** A limit and what is evicted first when it is reached. */
export function LimitFields(props: {
  readonly label: string;
  readonly limit: LayerDraft;
  readonly onChange: (changes: Partial<LayerDraft>) => void;
}) {
  const { label, limit, onChange } = props;
  return (
    <>
      <NumberField label={label} value={limit.value} onChange={(value) => onChange({ value })} />
      <Choice
        label={WORDS.unit}
        value={limit.units}
        options={UNITS.map((unit) => [unit, unit])}
        onChange={(units) => onChange({ units })}
      />
      <Choice
        label={WORDS.policy}
        value={limit.policy}
        options={POLICIES.map((policy) => [policy, WORDS.policies[policy]])}
        onChange={(policy) => onChange({ policy })}
      />
    </>
  );
}

/** Limits of single layers, as part of the form. `onChange` gets one of them; null removes it. */
export function LayerQuotas(props: {
  readonly draft: Draft;
  readonly onChange: (layer: string, limit: LayerDraft | null) => void;
}) {
  const [name, setName] = useState('');
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
            label={WORDS.limitOf(layer)}
            limit={limit}
            onChange={(changes) => props.onChange(layer, { ...limit, ...changes })}
          />
          <button type="button" onClick={() => props.onChange(layer, null)}>
            {TEXTS.remove}
          </button>
        </div>
      ))}
      <div className="row">
        <LayerField value={name} except={layers.map(([layer]) => layer)} onChange={setName} />
        <button type="button" disabled={name === ''} onClick={add}>
          {WORDS.addLayer}
        </button>
      </div>
    </div>
  );
}
