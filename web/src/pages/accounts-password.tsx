import { type FormEvent, useState } from 'react';
import { send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { DoneNotice, Field, ProblemNotice } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

const WORDS = TEXTS.accounts;

export function OwnPassword() {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const action = useAction();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void action.run(async () => {
      await send('PUT', 'api/v1/me/password', { current, password });
      setCurrent('');
      setPassword('');
      return WORDS.changed;
    });
  };
  return (
    <form className="form-grid" onSubmit={submit}>
      <Field label={WORDS.current}>
        <input
          type="password"
          autoComplete="current-password"
          required
          value={current}
          onChange={({ target }) => setCurrent(target.value)}
        />
      </Field>
      <Field label={WORDS.fresh}>
        <input
          type="password"
          autoComplete="new-password"
          required
          value={password}
          onChange={({ target }) => setPassword(target.value)}
        />
      </Field>
      <button type="submit" disabled={action.busy}>
        {WORDS.change}
      </button>
      <ProblemNotice problem={action.problem} />
      <DoneNotice text={action.done} />
    </form>
  );
}
