import { useEffect, useState } from 'react';
import { type ApiResponse, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { coordinateText, fill } from '../format.ts';
import type { ConsoleMap } from '../map/console-map.ts';
import {
  type Area,
  AreaDrawing,
  areaInUnits,
  cornersOf,
  type DrawMode,
  isWhole,
  NOT_TYPED,
  shapeIn,
  WHOLE,
} from '../map/draw-area.ts';
import { MapBox, useBaseMap } from '../map/map-box.tsx';
import type { TileSet } from '../map/tile-set.ts';
import { Button, Choice, CodeField, Field } from '../parts/basics.tsx';
import { BoundsFields } from '../parts/ranges.tsx';
import { TEXTS } from '../texts.ts';
import { AreaChoice } from './source-fields.tsx';

type Shape = ApiResponse<'GET /api/v1/areas/{name}'>;

const WORDS = TEXTS.seed;
const MODES: readonly DrawMode[] = ['none', 'rectangle', 'polygon'];
/** Degrees. */
const WORLD = [-180, -90, 180, 90];

interface AreaProps {
  readonly set: TileSet;
  readonly area: Area;
  readonly onChange: (area: Area) => void;
}

/** A drawing replaces the previous area. */
export function AreaMap({ set, area, onChange }: AreaProps) {
  const [drawing, setDrawing] = useState<AreaDrawing | null>(null);
  const [mode, setMode] = useState<DrawMode>('none');
  const [failed, setFailed] = useState<string | null>(null);
  const base = useBaseMap(set.gridSet);
  const outline = useResource<Shape>(area.kind === 'named' ? `api/v1/areas/${part(area.name)}` : null).data;
  const ready = (map: ConsoleMap) =>
    setDrawing(
      new AreaDrawing(map, (drawn) => {
        onChange(drawn);
        setMode('none');
      }),
    );
  useEffect(() => drawing?.setMode(mode), [drawing, mode]);
  // GeoJSON and named areas come from elsewhere: they may be out of sight.
  useEffect(() => {
    const shown: Area = outline ? { kind: 'shape', shape: outline, crs: 'EPSG:4326' } : area;
    drawing?.show(shown, shown.kind === 'shape' && shown.crs !== 'grid-set' ? 0 : null);
  }, [drawing, area, outline]);
  return (
    <div className="stack">
      <div className="row" role="toolbar" aria-label={WORDS.area}>
        {MODES.map((one) => (
          <Button
            key={one}
            aria-pressed={mode === one}
            kind={mode === one ? 'primary' : ''}
            onClick={() => setMode(one)}
          >
            {WORDS.draw[one]}
          </Button>
        ))}
        <Button disabled={isWhole(area)} onClick={() => onChange(WHOLE)}>
          {WORDS.clear}
        </Button>
        <span className="small quiet">{WORDS.drawHints[mode]}</span>
      </div>
      <MapBox
        set={set}
        base={base}
        label={WORDS.drawHelp}
        onReady={ready}
        events={{ onTileFailed: setFailed }}
      />
      {failed !== null && (
        <p className="notice warn small">{fill(TEXTS.layer.tileFailed, { address: failed })}</p>
      )}
    </div>
  );
}

/** The same area by keyboard: a named one, bounds in the grid set's CRS or in degrees, or GeoJSON. */
export function AreaFields(props: AreaProps & { readonly fault: string | null }) {
  const { area, onChange } = props;
  const name = area.kind === 'named' ? area.name : undefined;
  return (
    <>
      <AreaChoice
        value={name}
        onChange={(chosen) => onChange(chosen ? { kind: 'named', name: chosen } : WHOLE)}
      />
      {name === undefined && <UnnamedFields {...props} />}
    </>
  );
}

function UnnamedFields({ set, area, onChange, fault }: AreaProps & { readonly fault: string | null }) {
  if (area.kind === 'shape') {
    return (
      <>
        <p className="notice">{fill(WORDS.shape, { corners: cornersOf(area.shape) })}</p>
        {fault !== null && <p className="small field-error">{fault}</p>}
      </>
    );
  }
  const typed = area.kind === 'bounds' ? area.typed : NOT_TYPED;
  const degrees = area.kind === 'bounds' && area.degrees === true;
  const units = degrees ? 'degrees' : 'grid-set';
  const { srs } = set.gridSet;
  const other = areaInUnits(area, srs, !degrees);
  const change = (changed: readonly string[]) => {
    const bounds: Area = { kind: 'bounds', typed: changed, degrees };
    onChange(isWhole(bounds) && !degrees ? WHOLE : bounds);
  };
  return (
    <>
      <Choice
        label={WORDS.crs}
        value={units}
        options={Object.entries({ 'grid-set': srs, degrees: WORDS.degrees }).filter(
          ([one]) => one === units || other !== null,
        )}
        onChange={() => other && onChange(other)}
      />
      <BoundsFields
        legend={WORDS.area}
        labels={WORDS.bounds[units]}
        typed={typed}
        error={area.kind === 'text' ? null : fault}
        placeholders={(degrees ? WORLD : set.gridSet.extent).map(coordinateText)}
        onTyped={change}
      />
      <GeoJsonField text={area.kind === 'text' ? area.text : ''} onChange={onChange} />
    </>
  );
}

/** `text` is invalid GeoJSON. */
function GeoJsonField({ text, onChange }: Pick<AreaProps, 'onChange'> & { readonly text: string }) {
  const read = (typed: string) => {
    const shape = shapeIn(typed);
    if (shape) onChange({ kind: 'shape', shape, crs: 'EPSG:4326' });
    else onChange(typed.trim() === '' ? WHOLE : { kind: 'text', text: typed });
  };
  return (
    <details open={text !== '' || undefined}>
      <summary>{WORDS.geoJson}</summary>
      <div className="stack">
        <CodeField label={WORDS.geoJsonText} rows={4} value={text} aria-invalid={text !== ''} onText={read} />
        {text !== '' && <p className="small field-error">{WORDS.badGeoJson}</p>}
        <Field label={WORDS.geoJsonFile}>
          <input
            type="file"
            accept=".json,.geojson,application/geo+json"
            onChange={({ target }) => void target.files?.[0]?.text().then(read)}
          />
        </Field>
      </div>
    </details>
  );
}
