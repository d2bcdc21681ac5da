import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Problem, SESSION_PATH, send } from './api/client.ts';
import { useAction } from './api/use-action.ts';
import { Input, ProblemNotice } from './parts/basics.tsx';
import { Logo } from './parts/icons.tsx';
import { TEXTS } from './texts.ts';

export function Login(props: { readonly notice: string | null; readonly onDone: () => void }) {
  const { notice, onDone } = props;
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const action = useAction();
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void action.run(async () => {
      await send('POST', SESSION_PATH, { name, password }).catch(explain);
      onDone();
      return null;
    });
  };

  return (
    <main className="login">
      <form className="card" onSubmit={submit}>
        <span className="brand">
          <Logo />
          {TEXTS.product}
        </span>
        <h1>{TEXTS.login.title}</h1>
        {action.problem ? (
          <ProblemNotice problem={action.problem} />
        ) : (
          notice !== null && <p className="notice">{notice}</p>
        )}
        <Input
          label={TEXTS.login.name}
          ref={first}
          name="username"
          autoComplete="username"
          required
          value={name}
          onText={setName}
        />
        <Input
          label={TEXTS.login.password}
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onText={setPassword}
        />
        <button type="submit" className="primary" disabled={action.busy}>
          {TEXTS.signIn}
        </button>
        <p className="small quiet">{TEXTS.login.hint}</p>
        <a href="#map">{TEXTS.backToMap}</a>
      </form>
    </main>
  );
}

function explain(error: unknown): never {
  if (error instanceof Problem && error.status === 401) {
    throw new Problem(TEXTS.login.wrong, 401, error.requestId);
  }
  throw error;
}
