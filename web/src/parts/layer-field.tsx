import { type KeyboardEvent, type ReactNode, useDeferredValue, useId, useState } from 'react';
import { closestName } from '../../../src/lib/closest-name.ts';
import { type Answer, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { Empty, Loaded, TextField } from './basics.tsx';

/** As many as a list shows at once; typing finds the others. */
const MOST_OFFERED = 50;

/** What is wrong with the text of a layer field; null: it names a layer. */
export type LayerFault = string | null;

/** One of thousands of layers, found by a part of its name or title. A text that names none is a fault of the form. */
export function LayerField(props: {
  value: string;
  /** Without these. */
  except?: readonly string[];
  /** An empty field is a fault too. */
  required?: boolean;
  fault: LayerFault;
  onFault: (fault: LayerFault) => void;
  onChange: (name: string) => void;
}) {
  const { value, except = [], required = false, fault, onFault, onChange } = props;
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers').data?.layers ?? null;
  const allowed = layers?.filter(({ name }) => !except.includes(name)) ?? [];
  const [typed, setTyped] = useState<string | null>(null);
  const offered = withWords(useDeferredValue(typed ?? ''), allowed);
  const id = useId();
  const change = (text: string) => {
    const wrong = text === '' && !required ? null : faultIn(text, allowed);
    setTyped(wrong === null ? null : text);
    onFault(wrong);
    if (wrong === null) onChange(text);
  };
  const choose = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    // Enter chooses, and never submits the form.
    event.preventDefault();
    // Of the text as it is now: what is offered may be that of an earlier one.
    const [only, another] = typed === null ? [] : withWords(typed, allowed);
    if (only && !another) change(only.name);
  };
  return (
    <>
      <TextField
        label={TEXTS.tasks.layer}
        list={id}
        disabled={layers === null}
        value={typed ?? value}
        error={fault}
        onFocus={({ target }) => target.select()}
        onText={change}
        onKeyDown={choose}
      />
      <datalist id={id}>
        {offered.slice(0, MOST_OFFERED).map(({ name, title }) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </datalist>
    </>
  );
}

function withWords<L extends { readonly name: string; readonly title: string }>(
  words: string,
  layers: readonly L[],
): readonly L[] {
  const wanted = words.toLowerCase();
  return layers.filter(({ name, title }) => `${name}\n${title}`.toLowerCase().includes(wanted));
}

function faultIn(text: string, layers: readonly { readonly name: string }[]): LayerFault {
  const names = layers.map(({ name }) => name);
  if (names.includes(text)) return null;
  return text === '' ? TEXTS.layers.missing : TEXTS.layers.unknown(text, closestName(text, names));
}

/** The layer that is wanted, the first when none is, and a field to choose another. */
export function ChosenLayer(props: {
  wanted: string | null;
  onChange: (name: string) => void;
  children: (layer: LayerInfo, field: ReactNode, fault: LayerFault) => ReactNode;
}) {
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers');
  const [fault, setFault] = useState<LayerFault>(null);
  return (
    <Loaded resource={layers}>
      {({ layers: all }) => {
        const name = props.wanted || all[0]?.name;
        if (name === undefined) return <Empty>{TEXTS.layers.empty}</Empty>;
        const wrong = fault ?? faultIn(name, all);
        const change = (chosen: string) => chosen !== name && props.onChange(chosen);
        const field = <LayerField required value={name} fault={wrong} onFault={setFault} onChange={change} />;
        if (faultIn(name, all) !== null) return <div className="row">{field}</div>;
        return <OneLayer key={name} name={name} draw={(layer) => props.children(layer, field, fault)} />;
      }}
    </Loaded>
  );
}

function OneLayer(props: { name: string; draw: (layer: LayerInfo) => ReactNode }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(props.name)}`);
  return <Loaded resource={layer}>{props.draw}</Loaded>;
}
