import { type ApiResponse, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useApi } from '../api/use-resource.ts';
import { fill, timeText } from '../format.ts';
import { ActionNotices, Card, Table } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { TEXTS } from '../texts.ts';

type Account = ApiResponse<'GET /api/v1/external-accounts'>['accounts'][number];

const WORDS = TEXTS.accounts;

/** Accounts of an issuer or a proxy, if any has sessions or tokens. */
export function ExternalAccounts() {
  const { data, reload } = useApi('/api/v1/external-accounts');
  if (!data || data.accounts.length === 0) return null;
  return (
    <Card title={WORDS.external} aside={<span className="small quiet">{WORDS.externalHelp}</span>}>
      <AccountTable accounts={data.accounts} onChanged={reload} />
    </Card>
  );
}

function AccountTable({ accounts, onChanged }: { accounts: readonly Account[]; onChanged: () => void }) {
  const action = useAction();
  const signOut = async ({ id, name }: Account) => {
    await send('POST', `api/v1/external-accounts/${id}/sign-out`);
    onChanged();
    return fill(WORDS.signedOut, { name });
  };
  return (
    <div className="stack">
      <ActionNotices action={action} />
      <Table
        label={WORDS.external}
        head={[TEXTS.name, WORDS.issuer, WORDS.role, WORDS.sessions, WORDS.tokens, WORDS.signedInAt]}
        buttons={WORDS.change}
        rows={accounts.map((account) => [
          account.id,
          account.name,
          <span key="issuer" className="mono small">
            {account.issuer ?? WORDS.proxy}
            <br />
            {account.subject}
          </span>,
          account.role === null ? WORDS.noRole : TEXTS.roles[account.role],
          account.sessions,
          account.tokens,
          timeText(account.signedInAt),
          <span key="buttons" className="row end">
            <ConfirmButton
              action={action}
              disabled={account.sessions === 0}
              label={fill(WORDS.signOutTitle, { name: account.name })}
              title={fill(WORDS.signOutTitle, { name: account.name })}
              verb={WORDS.signOut}
              text={WORDS.signOutText}
              onConfirm={() => signOut(account)}
            />
            <ConfirmButton
              action={action}
              label={fill(TEXTS.removeTitle, { name: account.name })}
              title={fill(TEXTS.removeTitle, { name: account.name })}
              verb={TEXTS.remove}
              text={WORDS.removeExternalText}
              onConfirm={() => send('DELETE', `api/v1/external-accounts/${account.id}`).then(onChanged)}
            />
          </span>,
        ])}
      />
    </div>
  );
}
