import { TextField } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { isPositive } from './quota-draft.ts';

export function NumberField(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <TextField
      label={props.label}
      inputMode="decimal"
      value={props.value}
      error={isPositive(props.value) ? null : TEXTS.quota.notPositive}
      onChange={({ target }) => props.onChange(target.value)}
    />
  );
}
