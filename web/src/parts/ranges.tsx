import { Field, Input } from './basics.tsx';

/** A slider, whose label shows its value. */
export function Slider(props: {
  label: string;
  shown: string;
  max: number;
  step?: number;
  value: number;
  onChange: (value: number) => void;
}) {
  const { label, shown, onChange, ...range } = props;
  return (
    <Field label={`${label} · ${shown}`}>
      <input
        type="range"
        min={0}
        {...range}
        aria-valuetext={shown}
        onChange={({ target }) => onChange(Number(target.value))}
      />
    </Field>
  );
}

/** Fields for west, south, east and north, or for the bounds in a CRS. */
export function BoundsFields(props: {
  legend: string;
  labels: readonly string[];
  typed: readonly string[];
  error: string | null;
  help?: string;
  placeholders?: readonly string[];
  onTyped: (typed: string[]) => void;
}) {
  const { labels, typed, error, help, placeholders, onTyped } = props;
  return (
    <fieldset>
      <legend className="visually-hidden">{props.legend}</legend>
      <div className="form-grid pairs">
        {labels.map((label, place) => (
          <Input
            key={label}
            label={label}
            inputMode="decimal"
            placeholder={placeholders?.[place]}
            value={typed[place] ?? ''}
            aria-invalid={error !== null}
            onText={(text) => onTyped(typed.with(place, text))}
          />
        ))}
      </div>
      <span className={error === null ? 'small quiet' : 'small field-error'}>{error ?? help}</span>
    </fieldset>
  );
}
