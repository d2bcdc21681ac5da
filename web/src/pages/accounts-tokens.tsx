import { type FormEvent, useState } from 'react';
import { type Answer, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { timeText } from '../format.ts';
import { Copy, Empty, HiddenHead, Input, ProblemNotice, Table } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import type { Role } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { LayersField, patternsOf, RoleChoice } from './accounts-users.tsx';

type Token = Answer<'/api/v1/tokens'>['tokens'][number];

const WORDS = TEXTS.accounts;

export function Tokens({
  tokens,
  onChanged,
}: {
  readonly tokens: readonly Token[];
  readonly onChanged: () => void;
}) {
  const action = useAction();
  const [secret, setSecret] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<Token | null>(null);
  const revoke = ({ id }: Token) =>
    action.run(async () => {
      await send('DELETE', `api/v1/tokens/${id}`);
      onChanged();
      return null;
    });
  const make = (draft: object) =>
    action.run(async () => {
      setSecret((await send<{ token: string }>('POST', 'api/v1/tokens', draft)).token);
      onChanged();
      return null;
    });
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
        <TokenTable tokens={tokens} onRevoke={setLeaving} />
      )}
      <AddToken onAdd={make} />
      {leaving && (
        <Confirm
          title={WORDS.revokeToken(leaving.name)}
          action={WORDS.revoke}
          onConfirm={() => void revoke(leaving)}
          onClose={() => setLeaving(null)}
        >
          {WORDS.revokeTokenText}
        </Confirm>
      )}
    </div>
  );
}

function TokenTable({
  tokens,
  onRevoke,
}: {
  readonly tokens: readonly Token[];
  readonly onRevoke: (token: Token) => void;
}) {
  return (
    <Table
      label={WORDS.tokens}
      head={[
        WORDS.name,
        WORDS.role,
        WORDS.layers,
        WORDS.expires,
        WORDS.lastUsed,
        <HiddenHead key="change">{WORDS.revoke}</HiddenHead>,
      ]}
    >
      {tokens.map((token) => (
        <tr key={token.id}>
          <td>{token.name}</td>
          <td>{token.role}</td>
          <td className="mono">{token.layers.join(', ')}</td>
          <td>{token.expiresAt === null ? TEXTS.never : timeText(token.expiresAt)}</td>
          <td>{token.lastUsedAt === null ? TEXTS.never : timeText(token.lastUsedAt)}</td>
          <td className="number">
            <button
              type="button"
              className="danger"
              aria-label={WORDS.revokeToken(token.name)}
              onClick={() => onRevoke(token)}
            >
              {WORDS.revoke}…
            </button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function AddToken({ onAdd }: { readonly onAdd: (draft: object) => Promise<void> }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('operator');
  const [layers, setLayers] = useState('*');
  const [day, setDay] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const expiresAt = day === '' ? null : new Date(`${day}T23:59:59`).toISOString();
    void onAdd({ name, role, layers: patternsOf(layers), expiresAt });
  };
  return (
    <form className="form-grid tops" onSubmit={submit} aria-label={WORDS.addToken}>
      <Input label={WORDS.name} required value={name} autoComplete="off" onText={setName} />
      <RoleChoice role={role} onChange={setRole} />
      <LayersField value={layers} onChange={setLayers} />
      <Input label={WORDS.expiresOn} type="date" value={day} onText={setDay} />
      <button type="submit" className="beside-fields">
        {WORDS.addToken}
      </button>
    </form>
  );
}
