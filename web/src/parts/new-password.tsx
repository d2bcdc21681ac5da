import { useEffect, useState } from 'react';
import { fill } from '../format.ts';
import { TEXTS } from '../texts.ts';
import { type InputProps, Password, TextField } from './basics.tsx';

const WORDS = TEXTS.accounts;

/** Typed twice. */
export function NewPassword(props: InputProps & { value: string; help?: string }) {
  const { label, value, required = true } = props;
  const [again, setAgain] = useState('');
  useEffect(() => {
    if (value === '') setAgain('');
  }, [value]);
  return (
    <>
      <Password {...props} fresh />
      <TextField
        type="password"
        autoComplete="new-password"
        label={fill(WORDS.repeated, { label })}
        required={required || value !== ''}
        error={again === '' || again === value ? null : WORDS.notRepeated}
        value={again}
        onText={setAgain}
      />
    </>
  );
}
