import { useEffect, useState } from 'react';
import { coordinateText } from '../format.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { type Area, AreaDrawing, cornersOf, type DrawMode, WHOLE } from '../map/draw-area.ts';
import { MapBox } from '../map/map-box.tsx';
import type { TileSet } from '../map/tile-set.ts';
import { Field } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

const WORDS = TEXTS.seed;
const MODES: readonly DrawMode[] = ['none', 'rectangle', 'polygon'];
const NO_EVENTS = {};
const NAMES = ['minX', 'minY', 'maxX', 'maxY'] as const;

interface AreaProps {
  readonly set: TileSet;
  readonly area: Area;
  readonly onChange: (area: Area) => void;
}

/** Draws the area of a task. What is drawn replaces what was there. */
export function AreaMap({ set, area, onChange }: AreaProps) {
  const [drawing, setDrawing] = useState<AreaDrawing | null>(null);
  const [mode, setMode] = useState<DrawMode>('none');
  const ready = (map: ConsoleMap) =>
    setDrawing(
      new AreaDrawing(map, (drawn) => {
        onChange(drawn);
        setMode('none');
      }),
    );
  useEffect(() => drawing?.setMode(mode), [drawing, mode]);
  useEffect(() => drawing?.show(area), [drawing, area]);
  return (
    <div className="stack">
      <div className="row" role="toolbar" aria-label={WORDS.area}>
        {MODES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={mode === one}
            className={mode === one ? 'primary' : ''}
            onClick={() => setMode(one)}
          >
            {WORDS.draw[one]}
          </button>
        ))}
        <button type="button" disabled={area.kind === 'whole'} onClick={() => onChange(WHOLE)}>
          {WORDS.clear}
        </button>
        <span className="small quiet">{WORDS.drawHints[mode]}</span>
      </div>
      <MapBox set={set} label={WORDS.drawHelp} events={NO_EVENTS} onReady={ready} />
    </div>
  );
}

/** The same area by keyboard. */
export function AreaFields({ set, area, onChange, fault }: AreaProps & { readonly fault: string | null }) {
  if (area.kind === 'shape') return <p className="notice">{WORDS.shape(cornersOf(area.shape))}</p>;
  const typed = area.kind === 'bounds' ? area.typed : ['', '', '', ''];
  const change = (place: number, text: string) => {
    const changed = NAMES.map((_, at) => (at === place ? text : (typed[at] ?? '')));
    onChange(changed.every((one) => one.trim() === '') ? WHOLE : { kind: 'bounds', typed: changed });
  };
  return (
    <fieldset className="form-grid">
      <legend className="visually-hidden">{WORDS.area}</legend>
      {NAMES.map((name, place) => (
        <Field key={name} label={WORDS[name]}>
          <input
            inputMode="decimal"
            placeholder={coordinateText(set.gridSet.extent[place] ?? 0)}
            value={typed[place] ?? ''}
            aria-invalid={fault !== null}
            onChange={({ target }) => change(place, target.value)}
          />
        </Field>
      ))}
      {fault !== null && <p className="small field-error">{fault}</p>}
    </fieldset>
  );
}
