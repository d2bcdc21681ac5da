import { type FormEvent, useState } from 'react';
import { type Answer, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { timeText } from '../format.ts';
import { Choice, HiddenHead, Input, ProblemNotice, Table, TextField } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { type Role, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

type User = Answer<'/api/v1/users'>['users'][number];

const WORDS = TEXTS.accounts;
export const ROLES: readonly Role[] = ['viewer', 'operator', 'admin'];

export function Users({
  users,
  onChanged,
}: {
  readonly users: readonly User[];
  readonly onChanged: () => void;
}) {
  const action = useAction();
  const [leaving, setLeaving] = useState<string | null>(null);
  const [changing, setChanging] = useState<User | null>(null);
  const change = (work: () => Promise<unknown>) =>
    action.run(async () => {
      await work();
      onChanged();
      return null;
    });
  return (
    <div className="stack">
      <ProblemNotice problem={action.problem} />
      <UserTable users={users} onChange={setChanging} onRemove={setLeaving} />
      <AddUser onAdd={(draft) => change(() => send('POST', 'api/v1/users', draft))} />
      {changing !== null && (
        <ChangeUser
          user={changing}
          onConfirm={(changes) =>
            void change(() => send('PUT', `api/v1/users/${part(changing.name)}`, changes))
          }
          onClose={() => setChanging(null)}
        />
      )}
      {leaving !== null && (
        <Confirm
          title={WORDS.removeUser(leaving)}
          action={TEXTS.remove}
          onConfirm={() => void change(() => send('DELETE', `api/v1/users/${part(leaving)}`))}
          onClose={() => setLeaving(null)}
        >
          {WORDS.removeUserText}
        </Confirm>
      )}
    </div>
  );
}

function UserTable(props: {
  readonly users: readonly User[];
  readonly onChange: (user: User) => void;
  readonly onRemove: (name: string) => void;
}) {
  const caller = useCaller();
  return (
    <Table
      label={WORDS.users}
      head={[
        WORDS.name,
        WORDS.role,
        WORDS.layers,
        WORDS.created,
        <HiddenHead key="change">{WORDS.change}</HiddenHead>,
      ]}
    >
      {props.users.map((user) => (
        <tr key={user.name}>
          <td>{user.name}</td>
          <td>{user.role}</td>
          <td className="mono">{user.layers.join(', ')}</td>
          <td>{timeText(user.createdAt)}</td>
          <td className="number">
            {user.name !== caller.name && (
              <span className="row end">
                <button
                  type="button"
                  aria-label={WORDS.editTitle(user.name)}
                  onClick={() => props.onChange(user)}
                >
                  {WORDS.edit}
                </button>
                <button
                  type="button"
                  className="danger"
                  aria-label={WORDS.removeUser(user.name)}
                  onClick={() => props.onRemove(user.name)}
                >
                  {TEXTS.remove}…
                </button>
              </span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function ChangeUser(props: {
  readonly user: User;
  readonly onConfirm: (changes: object) => void;
  readonly onClose: () => void;
}) {
  const { user } = props;
  const [role, setRole] = useState<Role>(user.role);
  const [layers, setLayers] = useState(user.layers.join(', '));
  const [password, setPassword] = useState('');
  const changes = { role, layers: patternsOf(layers), ...(password !== '' && { password }) };
  return (
    <Dialog
      title={WORDS.editTitle(user.name)}
      action={TEXTS.save}
      kind="primary"
      ready={changes.layers.length > 0}
      onConfirm={() => props.onConfirm(changes)}
      onClose={props.onClose}
    >
      <RoleChoice role={role} onChange={setRole} />
      <p className="small quiet">{WORDS.rolesHelp}</p>
      <LayersField value={layers} onChange={setLayers} />
      <TextField
        label={WORDS.fresh}
        help={WORDS.keepPassword}
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={({ target }) => setPassword(target.value)}
      />
    </Dialog>
  );
}

function AddUser({ onAdd }: { readonly onAdd: (draft: object) => Promise<void> }) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [layers, setLayers] = useState('*');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void onAdd({ name, password, role, layers: patternsOf(layers) });
  };
  return (
    <form className="form-grid tops" onSubmit={submit} aria-label={WORDS.addUser}>
      <Input label={WORDS.name} required value={name} autoComplete="off" onText={setName} />
      <Input
        label={WORDS.password}
        required
        type="password"
        autoComplete="new-password"
        value={password}
        onText={setPassword}
      />
      <RoleChoice role={role} onChange={setRole} />
      <LayersField value={layers} onChange={setLayers} />
      <button type="submit" className="beside-fields">
        {WORDS.addUser}
      </button>
    </form>
  );
}

export function RoleChoice({
  role,
  onChange,
}: {
  readonly role: Role;
  readonly onChange: (role: Role) => void;
}) {
  return (
    <Choice label={WORDS.role} value={role} options={ROLES.map((one) => [one, one])} onChange={onChange} />
  );
}

export function LayersField({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <TextField
      label={WORDS.layers}
      help={WORDS.layersHelp}
      required
      className="mono"
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

/** `roads*, rivers` → its patterns. */
export function patternsOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '');
}
