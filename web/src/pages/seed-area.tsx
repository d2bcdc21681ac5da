import Feature from 'ol/Feature.js';
import { useEffect, useState } from 'react';
import { coordinateText } from '../format.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import { type Area, AreaDrawing, type DrawMode } from '../map/draw-area.ts';
import { MapBox } from '../map/map-box.tsx';
import type { TileSet } from '../map/tile-set.ts';
import { Field } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

const WORDS = TEXTS.seed;
const MODES: readonly DrawMode[] = ['none', 'rectangle', 'polygon'];
const NO_EVENTS = {};
const NAMES = ['minX', 'minY', 'maxX', 'maxY'] as const;

/** Draws the area of a task. What is drawn replaces what was there. */
export function AreaMap(props: {
  readonly set: TileSet;
  readonly area: Area;
  readonly onChange: (area: Area) => void;
}) {
  const { set, area, onChange } = props;
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
  useEffect(() => drawing?.show(area, (polygon) => new Feature(polygon)), [drawing, area]);
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
        <button type="button" disabled={area.kind === 'whole'} onClick={() => onChange({ kind: 'whole' })}>
          {WORDS.clear}
        </button>
      </div>
      <MapBox set={set} label={WORDS.drawHelp} events={NO_EVENTS} onReady={ready} />
    </div>
  );
}

/** The same area by keyboard. */
export function AreaFields({
  set,
  area,
  onChange,
}: {
  readonly set: TileSet;
  readonly area: Area;
  readonly onChange: (area: Area) => void;
}) {
  const [typed, setTyped] = useState<readonly string[]>(['', '', '', '']);
  useEffect(() => {
    if (area.kind === 'bounds') setTyped(area.bounds.map(coordinateText));
    if (area.kind === 'whole') setTyped(['', '', '', '']);
  }, [area]);
  if (area.kind === 'polygon') return <p className="small">{WORDS.polygonDrawn(area.ring.length - 1)}</p>;

  const numbers = typed.map((text) => (text.trim() === '' ? Number.NaN : Number(text)));
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = numbers;
  const empty = typed.every((text) => text.trim() === '');
  const good = numbers.every(Number.isFinite) && minX <= maxX && minY <= maxY;
  const take = () => {
    if (empty && area.kind !== 'whole') onChange({ kind: 'whole' });
    if (good) onChange({ kind: 'bounds', bounds: [minX, minY, maxX, maxY] });
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
            aria-invalid={!empty && !good}
            onChange={({ target }) => setTyped(typed.map((text, at) => (at === place ? target.value : text)))}
            onBlur={take}
          />
        </Field>
      ))}
      {!empty && !good && <p className="small notice warn">{WORDS.badBounds}</p>}
    </fieldset>
  );
}
