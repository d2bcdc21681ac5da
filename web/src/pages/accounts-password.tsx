import { type FormEvent, useState } from 'react';
import { send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { ActionNotices, Input } from '../parts/basics.tsx';
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
      <Input
        label={WORDS.current}
        type="password"
        autoComplete="current-password"
        required
        value={current}
        onText={setCurrent}
      />
      <Input
        label={WORDS.fresh}
        type="password"
        autoComplete="new-password"
        required
        value={password}
        onText={setPassword}
      />
      <button type="submit" disabled={action.busy}>
        {WORDS.change}
      </button>
      <ActionNotices action={action} />
    </form>
  );
}
