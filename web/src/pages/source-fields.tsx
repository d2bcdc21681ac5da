import { type PointerEvent, useRef, useState } from 'react';
import { useApi } from '../api/use-resource.ts';
import { labelled, percentText } from '../format.ts';
import { Button, Choice, TextField } from '../parts/basics.tsx';
import { type LayerFault, LayerField } from '../parts/layer-field.tsx';
import { Slider } from '../parts/ranges.tsx';
import { TEXTS } from '../texts.ts';
import type { Faults } from './work-plan.ts';

/** The declared source of a layer or of a part. */
type Source = Readonly<Record<string, unknown>>;

interface Part {
  readonly layer?: string;
  readonly source?: Source;
  readonly opacity?: number;
  readonly zooms?: Range | undefined;
  readonly scales?: Range | undefined;
  readonly within?: string | undefined;
  readonly transparentColor?: string | undefined;
  readonly tolerance?: number | string | undefined;
}
/** A text is not a number yet. */
type Range = readonly (number | string)[];

const WORDS = TEXTS.add;
const PART_WORDS = TEXTS.layerParts;
/** By type of source: the setting with the names of upstream layers. */
const NAMED = {
  wms: { field: 'layers', label: WORDS.sourceLayers, help: WORDS.sourceLayersHelp },
  wmts: { field: 'layer', label: WORDS.sourceLayer, help: WORDS.sourceLayerHelp },
} as const;
const FIRST_RANGES = { all: undefined, zooms: [0, 18], scales: [0, 1_000_000] } as const;
const COLOUR_EXAMPLE = '#ffffff';
const { layers: _, ...PART_TYPES } = WORDS.types;

interface SourceProps {
  readonly source: Source;
  /** The setting's path in the declaration, e.g. `source.of[1].source`. */
  readonly path: string;
  readonly types: Readonly<Record<string, string>>;
  readonly faults: Faults;
  readonly onChange: (source: Source) => void;
}

export function SourceFields({ source, path, types, faults, onChange }: SourceProps) {
  const type = String(source.type ?? 'wms');
  const named = type === 'wms' || type === 'wmts' ? NAMED[type] : null;
  // The server stores a list. Several addresses, or one from the environment, can be edited only as text.
  const [first = '', ...others] = [source.url ?? ''].flat() as readonly unknown[];
  const url = typeof first === 'string' && others.length === 0 ? first : null;
  const change = (fields: object) => onChange({ type, ...source, ...fields });
  const retype = (chosen: string) => {
    const { layers, layer, of, ...others } = source;
    const drawn = layers ?? layer ?? '';
    const field = chosen === 'wms' ? { layers: drawn } : chosen === 'wmts' ? { layer: drawn } : {};
    onChange(chosen === 'layers' ? { type: chosen, of: [] } : { url: '', ...others, type: chosen, ...field });
  };
  return (
    <>
      <Choice
        label={WORDS.type}
        value={type}
        options={type in types ? types : { ...types, [type]: type }}
        onChange={retype}
      />
      {type in PART_TYPES && url !== null && (
        <TextField
          label={WORDS.address}
          value={url}
          error={faultIn(faults, `${path}.url`)}
          onText={(url) => change({ url })}
        />
      )}
      {named && (
        <TextField
          label={named.label}
          help={named.help}
          value={String(source[named.field] ?? '')}
          error={faultIn(faults, `${path}.${named.field}`)}
          onText={(text) => change({ [named.field]: text })}
        />
      )}
    </>
  );
}

/** The parts of a composed layer, the uppermost first. */
export function LayerParts(props: {
  of: readonly Part[];
  /** The composed layer. */
  name: string;
  faults: Faults;
  onChange: (of: readonly Part[]) => void;
}) {
  const { of, name, faults, onChange } = props;
  const [fault, setFault] = useState<LayerFault>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const rows = of.toReversed();
  const save = (changed: readonly Part[]) => onChange(changed.toReversed());
  const move = (from: number, to: number) => {
    const part = rows[from];
    if (part && to >= 0 && to < rows.length) save(rows.toSpliced(from, 1).toSpliced(to, 0, part));
  };
  const step = (from: number, by: -1 | 1) => {
    move(from, from + by);
    // The focus follows the part; at an end, where this button is disabled, to the other one.
    const buttons = list.current?.children[from + by]?.querySelectorAll<HTMLElement>('.moves button');
    const isAtEnd = from + by === 0 || from + by === rows.length - 1;
    buttons?.[(by === -1) === isAtEnd ? 1 : 0]?.focus();
  };
  const drag = ({ clientX, clientY }: PointerEvent) => {
    const over = document.elementFromPoint(clientX, clientY)?.closest('.part');
    const to = over ? [...(list.current?.children ?? [])].indexOf(over) : -1;
    if (dragged === null || to < 0 || to === dragged) return;
    move(dragged, to);
    setDragged(to);
  };
  return (
    <fieldset className="stack">
      <legend>{PART_WORDS.title}</legend>
      <p className="small quiet">{PART_WORDS.help}</p>
      <ul className="lines" ref={list}>
        {rows.map((part, row) => {
          const place = rows.length - 1 - row;
          const label = partName(part);
          const change = (fields: Part) => save(rows.with(row, { ...part, ...fields }));
          const button = (sign: string, verb: string, onClick: () => void, disabled = false) => (
            <Button kind="chip" aria-label={labelled(verb, label)} disabled={disabled} onClick={onClick}>
              {sign}
            </Button>
          );
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a layer may be drawn twice, and fields stay under the pointer
            <li key={row} className={row === dragged ? 'part dragged' : 'part'} aria-label={label}>
              <div className="row">
                <span
                  className="grip"
                  title={PART_WORDS.drag}
                  onPointerDown={(event) => {
                    event.currentTarget.setPointerCapture(event.pointerId);
                    setDragged(row);
                  }}
                  onPointerMove={drag}
                  onPointerUp={() => setDragged(null)}
                  onPointerCancel={() => setDragged(null)}
                />
                <strong>{label}</strong>
                <span className="row moves">
                  {button('↑', PART_WORDS.up, () => step(row, -1), row === 0)}
                  {button('↓', PART_WORDS.down, () => step(row, 1), place === 0)}
                  {button(WORDS.remove, WORDS.remove, () => save(rows.toSpliced(row, 1)))}
                </span>
              </div>
              <PartFields part={part} path={`source.of[${place}]`} faults={faults} onChange={change} />
            </li>
          );
        })}
      </ul>
      <div className="row tops">
        <LayerField
          // A new key empties the field after each choice.
          key={of.length}
          label={PART_WORDS.addLayer}
          value=""
          except={[name]}
          fault={fault}
          onFault={setFault}
          onChange={(layer) => layer !== '' && onChange([...of, { layer }])}
        />
        <Button
          kind="beside-fields"
          onClick={() =>
            onChange([...of, { source: { type: 'wms', url: '', layers: '', transparent: true } }])
          }
        >
          {PART_WORDS.addSource}
        </Button>
      </div>
    </fieldset>
  );
}

function PartFields(props: { part: Part; path: string; faults: Faults; onChange: (fields: Part) => void }) {
  const { part, path, faults, onChange } = props;
  const { source, opacity = 1, transparentColor = '', tolerance = '' } = part;
  const kind = part.zooms ? 'zooms' : part.scales ? 'scales' : 'all';
  const range = part.zooms ?? part.scales;
  const limit = (chosen: typeof kind, values: Range | undefined) =>
    onChange({ zooms: undefined, scales: undefined, ...(values && { [chosen]: values }) });
  const isLimited = range !== undefined || part.within !== undefined || transparentColor !== '';
  return (
    <div className="stack">
      <Slider
        label={PART_WORDS.opacity}
        shown={percentText(opacity)}
        max={1}
        step={0.05}
        value={opacity}
        onChange={(value) => onChange({ opacity: value })}
      />
      {source && (
        <SourceFields
          source={source}
          path={`${path}.source`}
          types={PART_TYPES}
          faults={faults}
          onChange={(changed) => onChange({ source: changed })}
        />
      )}
      <details open={isLimited}>
        <summary>{PART_WORDS.limits}</summary>
        <div className="form-grid tops">
          <Choice
            label={PART_WORDS.shownAt}
            value={kind}
            options={PART_WORDS.kinds}
            onChange={(chosen) => limit(chosen, FIRST_RANGES[chosen])}
          />
          {range?.map((value, end) => (
            <TextField
              key={end === 0 ? 'from' : 'to'}
              label={end === 0 ? PART_WORDS.from : PART_WORDS.to}
              inputMode="numeric"
              value={value}
              error={faultIn(faults, `${path}.${kind}`)}
              onText={(text) => limit(kind, range.with(end, numberIn(text)))}
            />
          ))}
          <AreaChoice value={part.within} onChange={(within) => onChange({ within })} />
          <TextField
            label={PART_WORDS.transparentColor}
            placeholder={COLOUR_EXAMPLE}
            value={transparentColor}
            error={faultIn(faults, `${path}.transparentColor`)}
            onText={(text) =>
              onChange({ transparentColor: text || undefined, ...(!text && { tolerance: undefined }) })
            }
          />
          {transparentColor !== '' && (
            <TextField
              label={PART_WORDS.tolerance}
              placeholder="0"
              inputMode="numeric"
              value={tolerance}
              error={faultIn(faults, `${path}.tolerance`)}
              onText={(text) => onChange({ tolerance: text === '' ? undefined : numberIn(text) })}
            />
          )}
        </div>
      </details>
    </div>
  );
}

/** One of the areas of the configuration file, or none. Without such areas there is no field. */
export function AreaChoice(props: { value: unknown; onChange: (name: string | undefined) => void }) {
  const known = useApi('/api/v1/areas').data?.areas.map(({ name }) => name) ?? [];
  const value = String(props.value ?? '');
  const names = value === '' || known.includes(value) ? known : [value, ...known];
  if (names.length === 0) return null;
  return (
    <Choice
      label={PART_WORDS.within}
      value={value}
      options={[['', TEXTS.keys.everywhere], ...names]}
      onChange={(name) => props.onChange(name || undefined)}
    />
  );
}

function partName({ layer, source }: Part): string {
  if (layer !== undefined) return layer;
  const type = String(source?.type ?? '');
  const drawn = source?.layers ?? source?.layer;
  const title = (PART_TYPES as Readonly<Record<string, string>>)[type] ?? type;
  return drawn ? labelled(title, String(drawn)) : title;
}

/** The fault of a setting, or of a part of it. */
export function faultIn(faults: Faults, setting: string): string | null {
  const name = Object.keys(faults).find((one) => one === setting || one.startsWith(`${setting}[`));
  return (name && faults[name]) ?? null;
}

/** A typed number. An invalid one stays a text, which the server refuses with a message. */
export function numberIn(text: string): number | string {
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
