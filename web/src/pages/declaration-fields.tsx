import { useEffect, useState } from 'react';
import type { ApiResponse } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { fill, labelled } from '../format.ts';
import { Button, Check, Choice, type InputProps, ProblemNotice, TextField } from '../parts/basics.tsx';
import { Suggestions, unknownName } from '../parts/layer-field.tsx';
import { TEXTS } from '../texts.ts';
import { GridSetForm } from './grid-set-form.tsx';
import { AreaChoice, faultIn, LayerParts, numberIn, SourceFields } from './source-fields.tsx';
import type { Faults } from './work-plan.ts';

export type Declaration = Readonly<Record<string, unknown>> & { readonly name: string };

const WORDS = TEXTS.add;
const FORMATS = [
  ...['image/png', 'image/png8', 'image/jpeg', 'image/webp', 'image/avif', 'image/gif'],
  ...['image/vnd.jpeg-png', 'image/vnd.jpeg-png8', 'application/vnd.mapbox-vector-tile'],
];
const KINDS = ['values', 'regex', 'integers', 'floats'] as const;
type Kind = (typeof KINDS)[number];

interface Subset {
  readonly name: string;
  readonly zoomStart?: number;
  readonly zoomStop?: number;
  readonly extent?: readonly number[];
}

type Filter = { readonly name: string; readonly default?: string | number } & {
  readonly [kind in Kind]?: unknown;
};

interface FieldsProps {
  readonly document: Declaration;
  /** By setting, as the server names it, e.g. `source.url`. */
  readonly faults: Faults;
  readonly onChange: (fields: object) => void;
}

/** Settings without a field stay as they are. */
export function DeclarationFields(props: FieldsProps) {
  return (
    <>
      <Source {...props} />
      <Formats {...props} />
      <GridSets {...props} />
      <Filters {...props} />
      <Serving {...props} />
    </>
  );
}

function Source({ document, faults, onChange }: FieldsProps) {
  const source = (document.source ?? {}) as Readonly<Record<string, unknown>>;
  const change = (changed: object) => onChange({ source: changed });
  return (
    <>
      <fieldset className="stack">
        <legend>{TEXTS.layer.source}</legend>
        <SourceFields source={source} path="source" types={WORDS.types} faults={faults} onChange={change} />
      </fieldset>
      {source.type === 'layers' && (
        <LayerParts
          of={listOf(source.of)}
          name={document.name}
          faults={faults}
          onChange={(of) => change({ ...source, of })}
        />
      )}
    </>
  );
}

function Formats({ document, onChange }: FieldsProps) {
  const declared = listOf<string | { type: string }>(document.formats);
  const typeOf = (format: (typeof declared)[number]) => (typeof format === 'string' ? format : format.type);
  const chosen = declared.map(typeOf);
  const others = chosen.filter((format) => !FORMATS.includes(format));
  const toggle = (format: string, on: boolean) =>
    onChange({ formats: on ? [...declared, format] : declared.filter((one) => typeOf(one) !== format) });
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

function GridSets({ document, faults, onChange }: FieldsProps) {
  const known = useResource<readonly string[]>('rest/gridsets.json');
  const [wanted, setWanted] = useState('');
  const [added, setAdded] = useState<string | null>(null);
  const [declared, setDeclared] = useState<string | null>(null);
  const names = known.data ?? [];
  const code = /^(?:EPSG:)?(\d{4,6})$/i.exec(wanted.trim())?.[1] ?? null;
  const unknown = wanted !== '' && !names.includes(wanted);
  const subsets = listOf<string | Subset>(document.gridSets).map((one) =>
    typeof one === 'string' ? { name: one } : one,
  );
  const save = (changed: readonly Subset[]) =>
    onChange({ gridSets: changed.map((one) => (Object.keys(one).length === 1 ? one.name : one)) });
  const declaredOnes = subsets.filter(({ name }) => names.includes(name));
  const like = declaredOnes.find(({ extent }) => extent) ?? declaredOnes[0];
  const box = like?.extent && { extent: String(like.extent) };
  const query = new URLSearchParams({ gridSet: added ?? '', ...(like && { like: like.name }), ...box });
  const preview = useResource<ApiResponse<'GET /api/v1/gridset-preview'>>(
    added === null ? null : `api/v1/gridset-preview?${query}`,
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is added once, with the extent of the others
  useEffect(() => {
    if (!preview.data) return;
    save([...subsets, preview.data.part]);
    setAdded(null);
    setWanted('');
  }, [preview.data]);
  const zoom = (at: number, field: 'zoomStart' | 'zoomStop', text: string) => {
    const { [field]: _, ...others } = subsets[at] ?? { name: '' };
    save(subsets.with(at, text === '' ? others : { ...others, [field]: numberIn(text) }));
  };
  return (
    <fieldset className="stack">
      <legend>{WORDS.gridSets}</legend>
      {subsets.map((subset, at) => (
        <div className="row tops" key={subset.name}>
          <strong>{subset.name}</strong>
          {(['zoomStart', 'zoomStop'] as const).map((field) => (
            <TextField
              key={field}
              label={TEXTS.seed.zooms[field]}
              inputMode="numeric"
              size={6}
              value={subset[field] ?? ''}
              error={faultIn(faults, `gridSets[${at}].${field}`) ?? faults[`gridSets[${at}]`] ?? null}
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
      <div className="row tops">
        <TextField
          label={WORDS.addGridSet}
          list="grid-set-names"
          value={wanted}
          error={unknown ? unknownName(WORDS.noGridSet, wanted, names) : null}
          onText={(text) => {
            setWanted(text);
            setAdded(null);
          }}
        />
        <Suggestions id="grid-set-names" values={names} />
        <Button
          kind="beside-fields"
          disabled={wanted === '' || unknown || subsets.some(({ name }) => name === wanted)}
          onClick={() => setAdded(wanted)}
        >
          {WORDS.addOne}
        </Button>
        {unknown && code !== null && (
          <Button kind="beside-fields" onClick={() => setDeclared(code)}>
            {fill(TEXTS.gridSets.declare, { crs: `EPSG:${code}` })}
          </Button>
        )}
      </div>
      <ProblemNotice problem={preview.problem} />
      {declared !== null && (
        <GridSetForm
          key={declared}
          srs={declared}
          onSaved={(name) => {
            known.reload();
            setAdded(name);
            setDeclared(null);
          }}
        />
      )}
    </fieldset>
  );
}

function Filters({ document, faults, onChange }: FieldsProps) {
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
        const faultOf = (setting: string) => faultIn(faults, `parameters[${at}].${setting}`);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: its name is being typed
          <div className="form-grid tops entry" key={at}>
            <TextField
              label={WORDS.parameter}
              value={filter.name}
              error={faultOf('name')}
              onText={(name) => change(at, { name })}
            />
            <TextField
              label={WORDS.usual}
              placeholder={TILE_WORDS.emptyValue}
              value={String(filter.default ?? '')}
              error={faultOf('default')}
              onText={(text) => change(at, { default: text })}
            />
            <Choice
              label={WORDS.kind}
              value={kind}
              options={WORDS.kinds}
              onChange={(one) => save(filters.with(at, { ...others, [one]: one === 'regex' ? '.*' : [] }))}
            />
            <ValuesField
              key={kind}
              kind={kind}
              given={given}
              error={faultOf(kind)}
              onChange={(value) => change(at, { [kind]: value })}
            />
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

const TILE_WORDS = TEXTS.serving;
/** With their defaults and help. */
const NUMBERS = [
  ['gutter', '0', null],
  ['minScale', '', null],
  ['maxScale', '', null],
  ['expireCache', '0', TILE_WORDS.expireCacheHelp],
  ['expireClients', '0', TILE_WORDS.expireClientsHelp],
] as const;
const CRS_EXAMPLE = 'EPSG:25832, EPSG:2056';
const METATILE = ['columns', 'rows'] as const;
const DEFAULT_METATILE = 4;

/** Fetching, expiry and access of tiles. An empty field is the default, and is not stored. */
function Serving({ document, faults, onChange }: FieldsProps) {
  const metatile = listOf<number | string>(document.metatile);
  const number = (text: string) => (text.trim() === '' ? undefined : numberIn(text));
  const changeMetatile = (at: number, text: string) => {
    const sides = METATILE.map((_, side) => (side === at ? number(text) : metatile[side]));
    const given = sides.map((side) => side ?? DEFAULT_METATILE);
    onChange({ metatile: sides.every((side) => side === undefined) ? undefined : given });
  };
  return (
    <fieldset className="stack">
      <legend>{TILE_WORDS.title}</legend>
      <div className="form-grid tops">
        {METATILE.map((side, at) => (
          <TextField
            key={side}
            label={TILE_WORDS[side]}
            inputMode="numeric"
            placeholder={String(DEFAULT_METATILE)}
            value={metatile[at] ?? ''}
            error={faultIn(faults, 'metatile')}
            onText={(text) => changeMetatile(at, text)}
          />
        ))}
        {NUMBERS.map(([setting, usual, help]) => {
          // Only an expiry can be a list.
          const isByZoom = Array.isArray(document[setting]);
          return (
            <TextField
              key={setting}
              label={TILE_WORDS[setting]}
              help={isByZoom ? TILE_WORDS.byZoom : help}
              inputMode="numeric"
              placeholder={isByZoom ? '' : usual}
              disabled={isByZoom}
              value={isByZoom ? '' : String(document[setting] ?? '')}
              error={faultIn(faults, setting)}
              onText={(text) => onChange({ [setting]: number(text) })}
            />
          );
        })}
        <Choice
          label={TILE_WORDS.access}
          value={String(document.access ?? 'public')}
          options={TILE_WORDS.accesses}
          onChange={(access) => onChange({ access: access === 'public' ? undefined : access })}
        />
        <AreaChoice value={document.within} onChange={(within) => onChange({ within })} />
      </div>
      <Check
        label={TILE_WORDS.fullWms}
        checked={document.fullWMS === true}
        onChange={(on) => onChange({ fullWMS: on || undefined, ...(!on && { wmsCrs: undefined }) })}
      />
      {document.fullWMS === true && (
        <ValuesField
          kind="values"
          label={TILE_WORDS.wmsCrs}
          placeholder={CRS_EXAMPLE}
          given={document.wmsCrs}
          error={faultIn(faults, 'wmsCrs')}
          onChange={(list) => onChange({ wmsCrs: String(list) === '' ? undefined : list })}
        />
      )}
    </fieldset>
  );
}

/** A list is typed with commas. The typed text stays as long as it means the same list. */
function ValuesField(
  props: Partial<Pick<InputProps, 'label' | 'placeholder'>> & {
    kind: Kind;
    given: unknown;
    error: string | null;
    onChange: (value: unknown) => void;
  },
) {
  const { kind, given, error, onChange, ...input } = props;
  const read = (text: string) => {
    if (kind === 'regex') return text;
    const entries = text.split(',').map((one) => (one.trim() === EMPTY ? '' : one.trim()));
    return kind === 'values' ? entries : entries.filter((one) => one !== '').map(numberIn);
  };
  const [typed, setTyped] = useState('');
  const isTyped = JSON.stringify(read(typed)) === JSON.stringify(given);
  return (
    <TextField
      label={kind === 'regex' ? WORDS.expression : WORDS.values}
      placeholder={kind === 'regex' ? '.*' : WORDS.valuesLike}
      {...input}
      value={isTyped ? typed : shownValues(given)}
      error={error}
      onText={(text) => {
        setTyped(text);
        onChange(read(text));
      }}
    />
  );
}

/** An empty value among others, which a comma alone would not show. */
const EMPTY = '""';

function shownValues(given: unknown): string {
  const values = [given ?? ''].flat();
  return values.length === 1 ? String(values[0]) : values.map((one) => (one === '' ? EMPTY : one)).join(', ');
}

function Remove({ label, ...button }: { label: string; disabled?: boolean; onClick: () => void }) {
  return (
    <Button kind="beside-fields" aria-label={labelled(WORDS.remove, label)} {...button}>
      {WORDS.remove}
    </Button>
  );
}

function listOf<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value : [];
}
