import { Field } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { isPositive } from './quota-draft.ts';

export function NumberField(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const bad = !isPositive(props.value);
  return (
    <Field label={props.label}>
      <input
        inputMode="decimal"
        value={props.value}
        aria-invalid={bad}
        onChange={({ target }) => props.onChange(target.value)}
      />
      {bad && <span className="small">{TEXTS.quota.notPositive}</span>}
    </Field>
  );
}
