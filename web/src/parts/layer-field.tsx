import { type ReactNode, useDeferredValue, useId, useState } from 'react';
import { type Answer, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { Empty, Field, Loaded } from './basics.tsx';

/** As many as a list shows at once; typing finds the others. */
const MOST_OFFERED = 50;

/** One of thousands of layers, found by a part of its name or title. It keeps the last one that there is. */
export function LayerField(props: {
  value: string;
  /** Without these. */
  except?: readonly string[];
  onChange: (name: string) => void;
}) {
  const { value, except = [], onChange } = props;
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers').data?.layers ?? [];
  const [typed, setTyped] = useState<string | null>(null);
  const words = useDeferredValue(typed ?? '').toLowerCase();
  const offered = layers.filter(
    ({ name, title }) => !except.includes(name) && `${name}\n${title}`.toLowerCase().includes(words),
  );
  const id = useId();
  const change = (text: string) => {
    setTyped(text);
    if (text === '' || offered.some(({ name }) => name === text)) onChange(text);
  };
  return (
    <Field label={TEXTS.tasks.layer}>
      <input
        list={id}
        value={typed ?? value}
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => change(target.value)}
        onBlur={() => setTyped(null)}
      />
      <datalist id={id}>
        {offered.slice(0, MOST_OFFERED).map(({ name, title }) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </datalist>
    </Field>
  );
}

/** The layer that is wanted, or else the first, and a field to choose another. */
export function ChosenLayer(props: {
  wanted: string | null;
  onChange: (name: string) => void;
  children: (layer: LayerInfo, field: ReactNode) => ReactNode;
}) {
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers');
  return (
    <Loaded resource={layers}>
      {({ layers: all }) => {
        const name = all.find((layer) => layer.name === props.wanted)?.name ?? all[0]?.name;
        if (name === undefined) return <Empty>{TEXTS.layers.empty}</Empty>;
        const change = (chosen: string) => chosen !== '' && chosen !== name && props.onChange(chosen);
        const field = <LayerField value={name} onChange={change} />;
        return <OneLayer key={name} name={name} field={field} draw={props.children} />;
      }}
    </Loaded>
  );
}

function OneLayer(props: {
  name: string;
  field: ReactNode;
  draw: (layer: LayerInfo, field: ReactNode) => ReactNode;
}) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(props.name)}`);
  return <Loaded resource={layer}>{(data) => props.draw(data, props.field)}</Loaded>;
}
