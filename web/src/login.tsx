import { useEffect, useRef, useState } from 'react';
import { Problem, SESSION_PATH, send } from './api/client.ts';
import { useAction } from './api/use-resource.ts';
import { docsAddress } from './docs-address.ts';
import { Button, Form, Input, LanguageChoice, Password, ProblemNotice } from './parts/basics.tsx';
import { Logo } from './parts/icons.tsx';
import { TEXTS } from './texts.ts';

interface LoginProps {
  readonly notice: string | null;
  /** Whether there is a sign-in with OpenID Connect. */
  readonly oidc: boolean;
  readonly onDone: () => void;
}

export function Login({ notice, oidc, onDone }: LoginProps) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const action = useAction();
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const signIn = () => send('POST', SESSION_PATH, { name, password }).then(onDone, explain);
  return (
    <main className="login">
      <Form className="card stack" onSubmit={() => action.run(signIn)}>
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
          label={TEXTS.name}
          ref={first}
          name="username"
          autoComplete="username"
          required
          value={name}
          onText={setName}
        />
        <Password label={TEXTS.login.password} name="password" value={password} onText={setPassword} />
        <Button type="submit" kind="primary" disabled={action.busy}>
          {TEXTS.signIn}
        </Button>
        {oidc && (
          <Button disabled={action.busy} onClick={() => action.run(goToIssuer)}>
            {TEXTS.login.oidc}
          </Button>
        )}
        <p className="small quiet">{TEXTS.login.hint}</p>
        <LanguageChoice />
        <div className="row">
          <a href="#map">{TEXTS.backToMap}</a>
          <a href={docsAddress('overview')}>{TEXTS.documentation}</a>
        </div>
      </Form>
    </main>
  );
}

/** Signs in with OpenID Connect and returns to the same page; an unavailable issuer is a `Problem`, without leaving it. */
async function goToIssuer(): Promise<void> {
  const here = `${location.pathname}${location.hash}`;
  const address = `login/oidc?return=${encodeURIComponent(here)}`;
  const response = await fetch(address, { redirect: 'manual' }).catch(() => null);
  if (!response) throw new Problem(TEXTS.errors.unreachable, 0, null);
  if (response.status === 503) throw new Problem(TEXTS.login.away, 503, response.headers.get('x-request-id'));
  location.assign(address);
}

function explain(error: unknown): never {
  if (error instanceof Problem && error.status === 401) {
    throw new Problem(TEXTS.login.wrong, 401, error.requestId);
  }
  throw error;
}
