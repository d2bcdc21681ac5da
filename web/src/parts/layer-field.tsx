import { type ReactNode, useDeferredValue, useEffect, useId, useRef, useState } from 'react';
import { closestName } from '../../../src/lib/closest-name.ts';
import { type ApiResponse, part } from '../api/client.ts';
import { useApi, useResource } from '../api/use-resource.ts';
import { fill, listOf } from '../format.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { type InputProps, Loaded, TextField } from './basics.tsx';

/** Limit of suggestions in the list; typing finds the others. */
const MAX_OFFERED = 50;

/** Why the text of the field is not a layer; null if it is one. */
export type LayerFault = string | null;

/** A field to choose one of thousands of layers by a part of its name or title. Any other text is a fault of the form. */
export function LayerField(props: {
  label?: string;
  value: string;
  /** The choices; all layers of the server by default. */
  layers?: readonly { readonly name: string; readonly title: string }[];
  /** Layers to leave out. */
  except?: readonly string[];
  /** An empty field is a fault too. */
  required?: boolean;
  fault: LayerFault;
  onFault: (fault: LayerFault) => void;
  onChange: (name: string) => void;
}) {
  const { value, except = [], required = false, fault, onFault, onChange } = props;
  const list = useResource<ApiResponse<'GET /api/v1/layers'>>(props.layers ? null : 'api/v1/layers');
  const layers = props.layers ?? list.data?.layers ?? null;
  const allowed = layers?.filter(({ name }) => !except.includes(name)) ?? [];
  const [typed, setTyped] = useState<string | null>(null);
  const offered = withWords(useDeferredValue(typed ?? ''), allowed);
  const id = useId();
  const choice = useRef(value);
  const take = (text: string) => {
    const wrong = text === '' && !required ? null : faultIn(text, allowed);
    // The typed text is shown until `value` has changed, so that typing can continue.
    setTyped(text);
    onFault(wrong);
    if (wrong !== null) return;
    choice.current = text;
    onChange(text);
  };
  const type = (text: string, isPicked: boolean) => {
    const grows = allowed.some(({ name }) => name !== text && name.startsWith(text));
    if (isPicked || text === '' || !grows || faultIn(text, allowed) !== null) return take(text);
    // The name is not chosen yet, because the user may be typing a longer one.
    setTyped(text);
    onFault(fill(TEXTS.layers.pressEnter, { name: text }));
  };
  const choose: InputProps['onKeyDown'] = (event) => {
    if (event.key !== 'Enter') return;
    // Enter chooses a layer, and must not submit the form.
    event.preventDefault();
    if (typed === null) return;
    // Searched again, because the suggestions may belong to an earlier text.
    const [only, another] = withWords(typed, allowed);
    take(only && !another ? only.name : typed);
  };
  useEffect(() => {
    if (value === choice.current) return;
    // The layer was chosen elsewhere, e.g. by the browser's Back.
    choice.current = value;
    setTyped(null);
    onFault(null);
  }, [value, onFault]);
  return (
    <>
      <TextField
        label={props.label ?? TEXTS.tasks.layer}
        list={id}
        disabled={layers === null}
        value={typed ?? value}
        error={fault}
        onFocus={({ target }) => target.select()}
        onText={type}
        onKeyDown={choose}
        onBlur={() => typed !== null && take(typed)}
      />
      <datalist id={id}>
        {offered.slice(0, MAX_OFFERED).map(({ name, title }) => (
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

/** The fault of an unknown name, with the most similar known one. */
export function unknownName(fault: string, name: string, names: readonly string[]): string {
  const guess = closestName(name, names);
  return fill(fault, { name }) + (guess === null ? '' : fill(TEXTS.didYouMean, { name: guess }));
}

function faultIn(text: string, layers: readonly { readonly name: string }[]): LayerFault {
  const names = layers.map(({ name }) => name);
  if (names.includes(text)) return null;
  return text === '' ? TEXTS.layers.missing : unknownName(TEXTS.layers.unknown, text, names);
}

/** The layers of a user, token or key: names and patterns such as `osm:*`, with commas. An unknown name is a fault. */
export function LayerPatterns(props: { value: string; onText: (text: string) => void }) {
  const list = useApi('/api/v1/layers');
  const names = listOf(props.value).filter((name) => !name.includes('*'));
  const wrong = names
    .map((name) => faultIn(name, list.data?.layers ?? [{ name }]))
    .find((one) => one !== null);
  const fault = listOf(props.value).length === 0 ? TEXTS.layers.missing : (wrong ?? null);
  const { value, onText } = props;
  const text = { label: TEXTS.nav.layers, help: TEXTS.accounts.layersHelp, className: 'mono' };
  return <TextField {...text} error={fault} value={value} onText={onText} />;
}

/** The areas that a user or key is limited to, with commas; empty: no limit. An unknown name is a fault. */
export function AreaNames(props: { value: string; onText: (text: string) => void }) {
  const known = useApi('/api/v1/areas').data?.areas;
  const unknown = listOf(props.value).filter((one) => known?.every(({ name }) => name !== one));
  const fault = unknown.length === 0 ? null : fill(TEXTS.keys.unknownAreas, { names: unknown.join(', ') });
  return <TextField label={TEXTS.keys.areas} help={TEXTS.keys.areasHelp} error={fault} {...props} />;
}

/** A field to choose a layer, by default the first, and the content for it. The field stays while another layer loads. */
export function ChosenLayer(props: {
  wanted: string | null;
  onChange: (name: string) => void;
  children: (layer: LayerInfo, fault: LayerFault) => ReactNode;
}) {
  const layers = useApi('/api/v1/layers');
  const [fault, setFault] = useState<LayerFault>(null);
  return (
    <Loaded resource={layers} empty={({ layers: all }) => all.length === 0 && TEXTS.layers.empty}>
      {({ layers: all }) => {
        const name = props.wanted || (all[0]?.name ?? '');
        const unknown = faultIn(name, all);
        const change = (choice: string) => choice !== name && props.onChange(choice);
        return (
          <div className="stack">
            <div className="layer-choice">
              <LayerField
                required
                layers={all}
                value={name}
                fault={fault ?? unknown}
                onFault={setFault}
                onChange={change}
              />
            </div>
            {unknown === null && (
              <OneLayer key={name} name={name} draw={(layer) => props.children(layer, fault)} />
            )}
          </div>
        );
      }}
    </Loaded>
  );
}

function OneLayer(props: { name: string; draw: (layer: LayerInfo) => ReactNode }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(props.name)}`);
  return <Loaded resource={layer}>{props.draw}</Loaded>;
}

/** Suggestions for an input whose `list` is `id`. */
export function Suggestions({ id, values }: { id: string; values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  );
}
