import { type FormEvent, useState } from 'react';
import { type Answer, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { timeText } from '../format.ts';
import { Choice, Field, ProblemNotice, Wide } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
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
  const caller = useCaller();
  const action = useAction();
  const [leaving, setLeaving] = useState<string | null>(null);
  const change = (work: () => Promise<unknown>) =>
    action.run(async () => {
      await work();
      onChanged();
      return null;
    });
  return (
    <div className="stack">
      <ProblemNotice problem={action.problem} />
      <Wide label={WORDS.users}>
        <table>
          <thead>
            <tr>
              <th>{WORDS.name}</th>
              <th>{WORDS.role}</th>
              <th>{WORDS.layers}</th>
              <th>{WORDS.created}</th>
              <th>
                <span className="visually-hidden">{TEXTS.remove}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {users.map((user) => (
              <tr key={user.name}>
                <td>{user.name}</td>
                <td>
                  <select
                    aria-label={`${WORDS.role}: ${user.name}`}
                    value={user.role}
                    disabled={user.name === caller.name}
                    onChange={({ target }) =>
                      void change(() =>
                        send('PUT', `api/v1/users/${part(user.name)}`, { role: target.value }),
                      )
                    }
                  >
                    {ROLES.map((role) => (
                      <option key={role}>{role}</option>
                    ))}
                  </select>
                </td>
                <td className="mono">{user.layers.join(', ')}</td>
                <td>{timeText(user.createdAt)}</td>
                <td>
                  {user.name !== caller.name && (
                    <button type="button" className="danger" onClick={() => setLeaving(user.name)}>
                      {TEXTS.remove}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <AddUser onAdd={(draft) => change(() => send('POST', 'api/v1/users', draft))} />
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
    <form className="form-grid" onSubmit={submit} aria-label={WORDS.addUser}>
      <Field label={WORDS.name}>
        <input required value={name} onChange={({ target }) => setName(target.value)} autoComplete="off" />
      </Field>
      <Field label={WORDS.password}>
        <input
          required
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={({ target }) => setPassword(target.value)}
        />
      </Field>
      <Choice
        label={WORDS.role}
        value={role}
        options={ROLES.map((one) => [one, WORDS.roles[one]])}
        onChange={setRole}
      />
      <Field label={WORDS.layers}>
        <input title={WORDS.layersHelp} value={layers} onChange={({ target }) => setLayers(target.value)} />
      </Field>
      <button type="submit">{WORDS.addUser}</button>
    </form>
  );
}

/** `roads*, rivers` → its patterns. */
export function patternsOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '');
}
