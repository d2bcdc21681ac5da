import { useState } from 'react';
import { useResource } from '../api/use-resource.ts';
import { Button, Check, Choice, Input, Suggestions, TextField } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

export type Declaration = Readonly<Record<string, unknown>> & { readonly name: string };

const WORDS = TEXTS.add;
const FORMATS = [
  ...['image/png', 'image/png8', 'image/jpeg', 'image/webp', 'image/gif'],
  ...['image/vnd.jpeg-png', 'image/vnd.jpeg-png8', 'application/vnd.mapbox-vector-tile'],
];
const KINDS = ['values', 'regex', 'integers', 'floats'] as const;
type Kind = (typeof KINDS)[number];

interface Subset {
  readonly name: string;
  readonly zoomStart?: number;
  readonly zoomStop?: number;
}

type Filter = { readonly name: string; readonly default?: string | number } & {
  readonly [kind in Kind]?: unknown;
};

interface FieldsProps {
  readonly document: Declaration;
  readonly onChange: (fields: object) => void;
}

/** Source, formats, grid sets and parameter filters of a declaration; what has no field here stays as it is. */
export function DeclarationFields(props: FieldsProps) {
  return (
    <>
      <Source {...props} />
      <Formats {...props} />
      <GridSets {...props} />
      <Filters {...props} />
    </>
  );
}

/** By type of source: the setting that names what is drawn. */
const NAMED = {
  wms: { field: 'layers', label: WORDS.sourceLayers, help: WORDS.sourceLayersHelp },
  wmts: { field: 'layer', label: WORDS.sourceLayer, help: WORDS.sourceLayerHelp },
} as const;

function Source({ document, onChange }: FieldsProps) {
  const source = (document.source ?? {}) as Readonly<Record<string, unknown>>;
  const type = String(source.type ?? 'wms');
  const types = type in WORDS.types ? WORDS.types : { ...WORDS.types, [type]: type };
  const named = type === 'wms' || type === 'wmts' ? NAMED[type] : null;
  const change = (fields: object) => onChange({ source: { type, ...source, ...fields } });
  const retype = (chosen: string) => {
    const { layers, layer, ...others } = source;
    const drawn = layers ?? layer ?? '';
    const field = chosen === 'wms' ? { layers: drawn } : chosen === 'wmts' ? { layer: drawn } : {};
    onChange({ source: { ...others, type: chosen, ...field } });
  };
  return (
    <fieldset className="stack">
      <legend>{TEXTS.layer.source}</legend>
      <Choice label={WORDS.type} value={type} options={types} onChange={retype} />
      {type in WORDS.types && typeof source.url !== 'object' && (
        <TextField label={WORDS.address} value={String(source.url ?? '')} onText={(url) => change({ url })} />
      )}
      {named && (
        <TextField
          label={named.label}
          help={named.help}
          value={String(source[named.field] ?? '')}
          onText={(text) => change({ [named.field]: text })}
        />
      )}
    </fieldset>
  );
}

function Formats({ document, onChange }: FieldsProps) {
  const chosen = listOf<string>(document.formats);
  const others = chosen.filter((format) => !FORMATS.includes(format));
  const toggle = (format: string, on: boolean) =>
    onChange({ formats: on ? [...chosen, format] : chosen.filter((one) => one !== format) });
  return (
    <fieldset>
      <legend>{WORDS.formats}</legend>
      <div className="row">
        {[...FORMATS, ...others].map((format) => (
          <Check
            key={format}
            label={format}
            checked={chosen.includes(format)}
            onChange={(on) => toggle(format, on)}
          />
        ))}
      </div>
    </fieldset>
  );
}

function GridSets({ document, onChange }: FieldsProps) {
  const known = useResource<readonly string[]>('rest/gridsets.json');
  const [wanted, setWanted] = useState('');
  const subsets = listOf<string | Subset>(document.gridSets).map((one) =>
    typeof one === 'string' ? { name: one } : one,
  );
  const save = (changed: readonly Subset[]) =>
    onChange({ gridSets: changed.map((one) => (Object.keys(one).length === 1 ? one.name : one)) });
  const zoom = (at: number, field: 'zoomStart' | 'zoomStop', text: string) => {
    const { [field]: _, ...others } = subsets[at] ?? { name: '' };
    save(subsets.with(at, text === '' ? others : { ...others, [field]: Number(text) }));
  };
  return (
    <fieldset className="stack">
      <legend>{WORDS.gridSets}</legend>
      {subsets.map((subset, at) => (
        <div className="row" key={subset.name}>
          <span>{subset.name}</span>
          {(['zoomStart', 'zoomStop'] as const).map((field) => (
            <Input
              key={field}
              label={TEXTS.seed[field]}
              type="number"
              min={0}
              max={30}
              value={subset[field] ?? ''}
              onText={(text) => zoom(at, field, text)}
            />
          ))}
          <Remove
            label={subset.name}
            disabled={subsets.length === 1}
            onClick={() => save(subsets.filter((_, place) => place !== at))}
          />
        </div>
      ))}
      <div className="row">
        <Input label={WORDS.addGridSet} list="grid-set-names" value={wanted} onText={setWanted} />
        <Suggestions id="grid-set-names" values={known.data ?? []} />
        <Button
          disabled={wanted === '' || subsets.some(({ name }) => name === wanted)}
          onClick={() => {
            save([...subsets, { name: wanted }]);
            setWanted('');
          }}
        >
          {WORDS.addOne}
        </Button>
      </div>
    </fieldset>
  );
}

function Filters({ document, onChange }: FieldsProps) {
  const filters = listOf<Filter>(document.parameters);
  const save = (parameters: readonly Filter[]) => onChange({ parameters });
  const change = (at: number, fields: object) =>
    save(filters.map((one, place) => (place === at ? { ...one, ...fields } : one)));
  return (
    <fieldset className="stack">
      <legend>{WORDS.filters}</legend>
      {filters.map((filter, at) => {
        const kind = KINDS.find((one) => one in filter) ?? 'values';
        const { [kind]: given, ...others } = filter;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: its name is being typed
          <div className="form-grid tops entry" key={at}>
            <Input label={WORDS.parameter} value={filter.name} onText={(name) => change(at, { name })} />
            <Input
              label={WORDS.usual}
              value={String(filter.default ?? '')}
              onText={(text) => change(at, { default: text })}
            />
            <Choice
              label={WORDS.kind}
              value={kind}
              options={WORDS.kinds}
              onChange={(one) => save(filters.with(at, { ...others, [one]: one === 'regex' ? '.*' : [] }))}
            />
            <ValuesField kind={kind} given={given} onChange={(value) => change(at, { [kind]: value })} />
            <Remove label={filter.name} onClick={() => save(filters.filter((_, place) => place !== at))} />
          </div>
        );
      })}
      <div className="row">
        <Button
          onClick={() =>
            save([...filters, { name: filters.length === 0 ? 'STYLES' : '', default: '', values: [''] }])
          }
        >
          {WORDS.addFilter}
        </Button>
      </div>
    </fieldset>
  );
}

/** A list is typed with commas, and read when the field is left: half a list is none. */
function ValuesField(props: { kind: Kind; given: unknown; onChange: (value: unknown) => void }) {
  const { kind, given, onChange } = props;
  const text = Array.isArray(given) ? given.join(', ') : String(given ?? '');
  const read = (typed: string) => {
    if (kind === 'regex') return typed;
    const entries = typed.split(',').map((one) => one.trim());
    if (kind === 'values') return entries;
    return entries.filter((one) => one !== '').map(Number);
  };
  return (
    <Input
      key={`${kind} ${text}`}
      label={kind === 'regex' ? WORDS.expression : WORDS.values}
      placeholder={kind === 'regex' ? '.*' : WORDS.valuesLike}
      defaultValue={text}
      onBlur={({ target }) => target.value !== text && onChange(read(target.value))}
    />
  );
}

function Remove({ label, ...button }: { label: string; disabled?: boolean; onClick: () => void }) {
  return (
    <Button kind="beside-fields" aria-label={TEXTS.labelled(WORDS.remove, label)} {...button}>
      {WORDS.remove}
    </Button>
  );
}

function listOf<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value : [];
}
