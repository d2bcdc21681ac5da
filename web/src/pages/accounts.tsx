import { type FormEvent, useState } from 'react';
import { type Answer, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { ActionNotices, Card, Empty, Input, Loaded, PageHead } from '../parts/basics.tsx';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { Tokens } from './accounts-tokens.tsx';
import { Users } from './accounts-users.tsx';

const WORDS = TEXTS.accounts;

export default function Accounts() {
  const caller = useCaller();
  const users = useResource<Answer<'/api/v1/users'>>(may(caller, 'admin') ? 'api/v1/users' : null);
  const tokens = useResource<Answer<'/api/v1/tokens'>>(may(caller, 'admin') ? 'api/v1/tokens' : null);
  return (
    <>
      <PageHead title={WORDS.title} />
      {caller.via === 'machine' && <p className="notice">{WORDS.machine}</p>}
      {!may(caller, 'admin') && <Empty>{WORDS.needAdmin}</Empty>}
      <div className="grid">
        {may(caller, 'admin') && (
          <>
            <Card
              title={WORDS.users}
              className="span-12"
              aside={<span className="small quiet">{WORDS.rolesHelp}</span>}
            >
              <Loaded resource={users}>
                {(data) => <Users users={data.users} onChanged={users.reload} />}
              </Loaded>
            </Card>
            <Card title={WORDS.tokens} className="span-12">
              <Loaded resource={tokens}>
                {(data) => <Tokens tokens={data.tokens} onChanged={tokens.reload} />}
              </Loaded>
            </Card>
          </>
        )}
        {caller.via === 'session' && (
          <Card title={WORDS.own} className="span-12">
            <OwnPassword />
          </Card>
        )}
      </div>
    </>
  );
}

function OwnPassword() {
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
