import { type ReactNode, useEffect, useState } from 'react';
import { type ApiBody, type ApiResponse, part, send } from '../api/client.ts';
import { useAction, useApi } from '../api/use-resource.ts';
import { fill, listOf, timeText } from '../format.ts';
import {
  ActionNotices,
  Button,
  Card,
  Choice,
  Empty,
  Form,
  Input,
  type InputProps,
  Loaded,
  PageHead,
  Password,
  Table,
  TextField,
  tied,
} from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { AreaNames, LayerPatterns } from '../parts/layer-field.tsx';
import { may, type Role, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import {
  AddForm,
  type AddProps,
  areaNames,
  Credentials,
  Expiry,
  endOfDay,
  layerNames,
  listOrNull,
  useAddFields,
} from './credentials.tsx';
import { AccountButtons, ExternalAccounts } from './external-accounts.tsx';

type User = ApiResponse<'GET /api/v1/users'>['users'][number];
type Token = ApiResponse<'GET /api/v1/tokens'>['tokens'][number];

const WORDS = TEXTS.accounts;
const ACCOUNT_NAME = '[A-Za-z0-9][A-Za-z0-9._@\\-]{0,63}';

export default function Accounts() {
  const caller = useCaller();
  return (
    <>
      <PageHead title={TEXTS.nav.accounts} />
      {caller.via === 'machine' && <p className="notice">{WORDS.machine}</p>}
      <div className="grid">
        {may(caller, 'admin') ? (
          <UsersAndTokens />
        ) : (
          <Empty>
            {fill(TEXTS.needRole, { what: `${WORDS.users}, ${WORDS.tokens}`, role: TEXTS.roles.admin })}
          </Empty>
        )}
        {caller.via === 'session' && (
          <Card title={WORDS.own}>
            <OwnPassword />
          </Card>
        )}
      </div>
    </>
  );
}

function UsersAndTokens() {
  const users = useApi('/api/v1/users');
  const tokens = useApi('/api/v1/tokens');
  return (
    <>
      <Card title={WORDS.users} aside={<span className="small quiet">{WORDS.rolesHelp}</span>}>
        <Loaded resource={users}>{(data) => <Users users={data.users} onChanged={users.reload} />}</Loaded>
      </Card>
      <ExternalAccounts />
      <Card title={WORDS.tokens}>
        <Loaded resource={tokens}>
          {(data) => <Tokens tokens={data.tokens} onChanged={tokens.reload} />}
        </Loaded>
      </Card>
    </>
  );
}

type NewUser = ApiBody<'POST /api/v1/users'>;

function Users({ users, onChanged }: { users: readonly User[]; onChanged: () => void }) {
  const caller = useCaller();
  const action = useAction();
  const [changing, setChanging] = useState<User | null>(null);
  const add = async (draft: NewUser) => {
    await send('POST', 'api/v1/users', draft);
    onChanged();
    return fill(WORDS.userAdded, { name: draft.name });
  };
  return (
    <div className="stack">
      <ActionNotices action={action} />
      <Table
        label={WORDS.users}
        head={[TEXTS.name, WORDS.role, TEXTS.nav.layers, TEXTS.keys.areas, WORDS.created]}
        buttons={WORDS.change}
        rows={users.map((user) => [
          user.name,
          ...grantCells(user),
          areaNames(user.areas),
          timeText(user.createdAt),
          user.name !== caller.name && (
            <AccountButtons
              name={user.name}
              path={`api/v1/users/${part(user.name)}`}
              removal={WORDS.removeUserText}
              action={action}
              onChanged={onChanged}
            >
              <Button
                aria-label={fill(TEXTS.editTitle, { name: user.name })}
                onClick={() => setChanging(user)}
              >
                {TEXTS.edit}
              </Button>
            </AccountButtons>
          ),
        ])}
      />
      <AddUser onAdd={(draft) => action.run(() => add(draft))} />
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
  return [name, TEXTS.roles[role], layerNames(layers)];
}

function ChangeUser(props: { user: User; onConfirm: (changes: object) => unknown; onClose: () => void }) {
  const { name, role, layers, areas } = props.user;
  const lists = { layers: layers.join(', '), areas: areas?.join(', ') ?? '' };
  const [typed, setTyped] = useState({ ...BLANK_USER, name, role, ...lists });
  const fields = userFields(typed, (changes) => setTyped({ ...typed, ...changes }));
  const { name: _, password, ...rights } = fields.body;
  return (
    <Dialog
      title={fill(TEXTS.editTitle, { name })}
      verb={TEXTS.save}
      kind="primary"
      ready
      onConfirm={() => props.onConfirm({ ...rights, ...(password !== '' && { password }) })}
      onClose={props.onClose}
    >
      {fields.role}
      <p className="small quiet">{WORDS.rolesHelp}</p>
      {fields.layers}
      {fields.areas}
      <NewPassword required={false} label={WORDS.fresh} help={WORDS.keepPassword} {...fields.password} />
    </Dialog>
  );
}

const BLANK_USER = { name: '', role: 'viewer' as Role, layers: '*', areas: '', password: '' };

function AddUser({ onAdd }: AddProps<NewUser>) {
  const { typed, change, clearAfter } = useAddFields(BLANK_USER);
  const fields = userFields(typed, change);
  return (
    <AddForm verb={WORDS.addUser} onSubmit={() => clearAfter(onAdd(fields.body))}>
      {fields.name}
      <NewPassword label={TEXTS.login.password} help={WORDS.passwordRule} {...fields.password} />
      {fields.role}
      {fields.layers}
      {fields.areas}
    </AddForm>
  );
}

/** Fields of a user, and the body of the request. Only viewers can be limited to areas. */
function userFields(typed: typeof BLANK_USER, change: (changes: Partial<typeof BLANK_USER>) => void) {
  const grant = grantFields(typed, change);
  const { text } = tied(typed, change);
  const isViewer = typed.role === 'viewer';
  return {
    ...grant,
    body: { ...grant.body, areas: isViewer ? listOrNull(typed.areas) : null, password: typed.password },
    password: text('password'),
    areas: isViewer && <AreaNames {...text('areas')} />,
  };
}

function Tokens({ tokens, onChanged }: { tokens: readonly Token[]; onChanged: () => void }) {
  return (
    <Credentials
      path="api/v1/tokens"
      items={tokens}
      onChanged={onChanged}
      words={{
        title: WORDS.tokens,
        none: WORDS.noTokens,
        created: WORDS.token,
        remove: WORDS.revoke,
        removeTitle: WORDS.revokeToken,
        removeText: WORDS.revokeTokenText,
      }}
      head={[TEXTS.name, WORDS.role, TEXTS.nav.layers]}
      cells={grantCells}
      secretOf={(response) => (response as ApiResponse<'POST /api/v1/tokens'>).token}
      form={(add) => <AddToken onAdd={add} />}
    />
  );
}

const BLANK_TOKEN = { name: '', role: 'operator' as Role, layers: '*', day: '' };

function AddToken({ onAdd }: AddProps) {
  const { typed, change, clearAfter } = useAddFields(BLANK_TOKEN);
  const grant = grantFields(typed, change);
  const add = () => clearAfter(onAdd({ ...grant.body, expiresAt: endOfDay(typed.day) }));
  return (
    <AddForm verb={WORDS.addToken} onSubmit={add}>
      {grant.name}
      {grant.role}
      {grant.layers}
      <Expiry label={WORDS.expiresOn} {...tied(typed, change).text('day')} />
    </AddForm>
  );
}

type Grant = Readonly<Pick<typeof BLANK_TOKEN, 'name' | 'role' | 'layers'>>;

/** Fields that users and tokens share, and the body of the request. */
function grantFields({ name, role, layers }: Grant, change: (changes: Partial<Grant>) => void) {
  const fields = tied({ name, role, layers }, change);
  return {
    body: { name, role, layers: listOf(layers) },
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
      <NewPassword label={WORDS.fresh} value={password} onText={setPassword} />
      <Button type="submit" disabled={action.busy}>
        {WORDS.change}
      </Button>
      <ActionNotices action={action} />
    </Form>
  );
}

/** A new password, to be typed twice. */
function NewPassword(props: InputProps & { value: string; help?: string }) {
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
