import { useEffect, useState } from 'react';
import { type ApiResponse, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import type { TileSet } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { Field } from './basics.tsx';

type Times = ApiResponse<'GET /api/v1/layers/{layer}/times'>;

const SHOWN_TIMES = 200;
const REFRESH_SECONDS = 30;
/** Milliseconds without a move until the map follows. */
const REST_MS = 200;

/** The latest times of a layer, to be gone through. */
export function TimeSlider(props: { set: TileSet; onChange: (set: TileSet) => void }) {
  const address = `api/v1/layers/${part(props.set.layer.name)}/times?count=${SHOWN_TIMES}`;
  const { data } = useResource<Times>(address, REFRESH_SECONDS);
  return data && data.times.length > 1 ? <Slider {...props} of={data} /> : null;
}

function Slider(props: { set: TileSet; onChange: (set: TileSet) => void; of: Times }) {
  const { set, onChange, of } = props;
  const { parameter, times } = of;
  const usual = set.layer.parameters.find(({ name }) => name === parameter)?.default ?? '';
  const chosen = set.parameters[parameter] ?? usual;
  const [moved, setMoved] = useState<string | null>(null);
  const shown = moved ?? chosen;
  useEffect(() => {
    if (moved === null) return;
    const timer = setTimeout(() => {
      const { [parameter]: _, ...others } = set.parameters;
      onChange({ ...set, parameters: moved === usual ? others : { ...others, [parameter]: moved } });
      setMoved(null);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [moved, set, onChange, parameter, usual]);
  const place = times.indexOf(shown);
  return (
    <Field label={`${TEXTS.layer.time} · ${shown}`}>
      <input
        type="range"
        min={0}
        max={times.length - 1}
        value={place < 0 ? times.length - 1 : place}
        aria-valuetext={shown}
        onChange={({ target }) => setMoved(times[Number(target.value)] ?? null)}
      />
    </Field>
  );
}
