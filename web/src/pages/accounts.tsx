import { type ReactNode, useState } from 'react';
import { type Answer, type Body, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { listOf, timeText } from '../format.ts';
import {
  ActionNotices,
  Button,
  Card,
  Choice,
  Copy,
  Empty,
  Expiry,
  Form,
  Input,
  Loaded,
  PageHead,
  Password,
  ProblemNotice,
  Table,
  tied,
} from '../parts/basics.tsx';
import { ConfirmButton, Dialog } from '../parts/dialog.tsx';
import { LayerPatterns } from '../parts/layer-field.tsx';
import { may, type Role, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

type User = Answer<'/api/v1/users'>['users'][number];
type Token = Answer<'/api/v1/tokens'>['tokens'][number];

const WORDS = TEXTS.accounts;
const ACCOUNT_NAME = '[A-Za-z0-9][A-Za-z0-9._@\\-]{0,63}';

export default function Accounts() {
  const caller = useCaller();
  const users = useResource<Answer<'/api/v1/users'>>(may(caller, 'admin') ? 'api/v1/users' : null);
  const tokens = useResource<Answer<'/api/v1/tokens'>>(may(caller, 'admin') ? 'api/v1/tokens' : null);
  return (
    <>
      <PageHead title={TEXTS.nav.accounts} />
      {caller.via === 'machine' && <p className="notice">{WORDS.machine}</p>}
      {!may(caller, 'admin') && (
        <Empty>{TEXTS.needRole(`${WORDS.users}, ${WORDS.tokens}`, TEXTS.roles.admin)}</Empty>
      )}
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

type NewUser = Body<'POST /api/v1/users'>;

function Users({ users, onChanged }: { users: readonly User[]; onChanged: () => void }) {
  const caller = useCaller();
  const action = useAction();
  const [changing, setChanging] = useState<User | null>(null);
  const add = async (draft: NewUser) => {
    await send('POST', 'api/v1/users', draft);
    onChanged();
    return WORDS.userAdded(draft.name);
  };
  return (
    <div className="stack">
      <ActionNotices action={action} />
      <Table
        label={WORDS.users}
        head={[TEXTS.name, WORDS.role, TEXTS.nav.layers, TEXTS.tasks.created]}
        buttons={WORDS.change}
        rows={users.map((user) => [
          user.name,
          ...grantCells(user),
          timeText(user.createdAt),
          user.name !== caller.name && (
            <span className="row end">
              <Button aria-label={TEXTS.editTitle(user.name)} onClick={() => setChanging(user)}>
                {TEXTS.edit}
              </Button>
              <ConfirmButton
                action={action}
                label={TEXTS.removeTitle(user.name)}
                title={TEXTS.removeTitle(user.name)}
                verb={TEXTS.remove}
                text={WORDS.removeUserText}
                onConfirm={() => send('DELETE', `api/v1/users/${part(user.name)}`).then(onChanged)}
              >
                {TEXTS.remove}…
              </ConfirmButton>
            </span>
          ),
        ])}
      />
      {/* Another form, empty again, after a user was added. */}
      <AddUser key={users.length} onAdd={(draft) => action.run(() => add(draft))} />
      {changing && (
        <ChangeUser
          user={changing}
          onConfirm={(changes) =>
            action.run(() => send('PUT', `api/v1/users/${part(changing.name)}`, changes).then(onChanged))
          }
          onClose={() => setChanging(null)}
        />
      )}
    </div>
  );
}

function grantCells({ name, role, layers }: User | Token): readonly ReactNode[] {
  return [
    name,
    TEXTS.roles[role],
    <span key="layers" className="mono">
      {layers.join(', ')}
    </span>,
  ];
}

function ChangeUser(props: { user: User; onConfirm: (changes: object) => unknown; onClose: () => void }) {
  const { name, role, layers } = props.user;
  const grant = useGrant({ name, role, layers: layers.join(', ') });
  const [password, setPassword] = useState('');
  const { name: _, ...rights } = grant.body;
  return (
    <Dialog
      title={TEXTS.editTitle(name)}
      verb={TEXTS.save}
      kind="primary"
      ready
      onConfirm={() => props.onConfirm({ ...rights, ...(password !== '' && { password }) })}
      onClose={props.onClose}
    >
      {grant.role}
      <p className="small quiet">{WORDS.rolesHelp}</p>
      {grant.layers}
      <Password
        fresh
        required={false}
        label={WORDS.fresh}
        help={WORDS.keepPassword}
        value={password}
        onText={setPassword}
      />
    </Dialog>
  );
}

function AddUser({ onAdd }: { onAdd: (draft: NewUser) => unknown }) {
  const grant = useGrant({ name: '', role: 'viewer', layers: '*' });
  const [password, setPassword] = useState('');
  return (
    <AddForm verb={WORDS.addUser} onSubmit={() => onAdd({ ...grant.body, password })}>
      {grant.name}
      <Password
        fresh
        label={TEXTS.login.password}
        help={WORDS.passwordRule}
        value={password}
        onText={setPassword}
      />
      {grant.role}
      {grant.layers}
    </AddForm>
  );
}

function Tokens({ tokens, onChanged }: { tokens: readonly Token[]; onChanged: () => void }) {
  const action = useAction();
  const [secret, setSecret] = useState<string | null>(null);
  const make = async (draft: object) => {
    setSecret((await send<{ token: string }>('POST', 'api/v1/tokens', draft)).token);
    onChanged();
  };
  return (
    <div className="stack">
      <ProblemNotice problem={action.problem} />
      {secret !== null && (
        <div className="notice good" role="status">
          <span>{WORDS.token}</span>
          <Copy label={WORDS.tokens} text={secret} />
        </div>
      )}
      {tokens.length === 0 ? (
        <Empty>{WORDS.noTokens}</Empty>
      ) : (
        <Table
          label={WORDS.tokens}
          head={[TEXTS.name, WORDS.role, TEXTS.nav.layers, TEXTS.inspect.expires, WORDS.lastUsed]}
          buttons={WORDS.revoke}
          rows={tokens.map((token) => [
            token.id,
            ...grantCells(token),
            token.expiresAt === null ? TEXTS.never : timeText(token.expiresAt),
            token.lastUsedAt === null ? TEXTS.never : timeText(token.lastUsedAt),
            <ConfirmButton
              key="revoke"
              action={action}
              label={WORDS.revokeToken(token.name)}
              title={WORDS.revokeToken(token.name)}
              verb={WORDS.revoke}
              text={WORDS.revokeTokenText}
              onConfirm={() => send('DELETE', `api/v1/tokens/${token.id}`).then(onChanged)}
            >
              {WORDS.revoke}…
            </ConfirmButton>,
          ])}
        />
      )}
      <AddToken onAdd={(draft) => action.run(() => make(draft))} />
    </div>
  );
}

function AddToken({ onAdd }: { onAdd: (draft: object) => unknown }) {
  const grant = useGrant({ name: '', role: 'operator', layers: '*' });
  const [day, setDay] = useState('');
  const expiresAt = day === '' ? null : new Date(`${day}T23:59:59`).toISOString();
  return (
    <AddForm verb={WORDS.addToken} onSubmit={() => onAdd({ ...grant.body, expiresAt })}>
      {grant.name}
      {grant.role}
      {grant.layers}
      <Expiry label={WORDS.expiresOn} value={day} onText={setDay} />
    </AddForm>
  );
}

function AddForm({
  verb,
  onSubmit,
  children,
}: {
  verb: string;
  onSubmit: () => unknown;
  children: ReactNode;
}) {
  return (
    <Form className="form-grid tops" onSubmit={onSubmit} aria-label={verb}>
      {children}
      <Button type="submit" kind="beside-fields">
        {verb}
      </Button>
    </Form>
  );
}

/** What a user and a token have in common: a field for each, and what was typed as the server takes it. */
function useGrant(first: { readonly name: string; readonly role: Role; readonly layers: string }) {
  const [typed, setTyped] = useState(first);
  const fields = tied(typed, (changes) => setTyped({ ...typed, ...changes }));
  return {
    body: { ...typed, layers: listOf(typed.layers) },
    name: (
      <Input
        label={TEXTS.name}
        required
        autoComplete="off"
        pattern={ACCOUNT_NAME}
        title={WORDS.nameRule}
        {...fields.text('name')}
      />
    ),
    role: <Choice label={WORDS.role} options={TEXTS.roles} {...fields.choice('role')} />,
    layers: <LayerPatterns {...fields.text('layers')} />,
  };
}

function OwnPassword() {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const action = useAction();
  const change = async () => {
    await send('PUT', 'api/v1/me/password', { current, password });
    setCurrent('');
    setPassword('');
    return WORDS.changed;
  };
  return (
    <Form className="form-grid" onSubmit={() => action.run(change)}>
      <Password label={WORDS.current} value={current} onText={setCurrent} />
      <Password fresh label={WORDS.fresh} value={password} onText={setPassword} />
      <Button type="submit" disabled={action.busy}>
        {WORDS.change}
      </Button>
      <ActionNotices action={action} />
    </Form>
  );
}
