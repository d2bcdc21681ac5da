import type { ReactNode } from 'react';
import { send } from '../api/client.ts';
import { type Action, useAction, useApi } from '../api/use-resource.ts';
import { fill, timeText } from '../format.ts';
import { ActionNotices, Card, Table } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { TEXTS } from '../texts.ts';

const WORDS = TEXTS.accounts;

/** Accounts of an issuer or proxy that have sessions or tokens, if any. */
export function ExternalAccounts() {
  const { data, reload } = useApi('/api/v1/external-accounts');
  const action = useAction();
  if (!data || data.accounts.length === 0) return null;
  return (
    <Card title={WORDS.external} aside={<span className="small quiet">{WORDS.externalHelp}</span>}>
      <div className="stack">
        <ActionNotices action={action} />
        <Table
          label={WORDS.external}
          head={[TEXTS.name, WORDS.issuer, WORDS.role, WORDS.sessions, WORDS.tokens, WORDS.signedInAt]}
          buttons={WORDS.change}
          rows={data.accounts.map((account) => [
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
            <AccountButtons
              key="buttons"
              name={account.name}
              path={`api/v1/external-accounts/${account.id}`}
              hasSessions={account.sessions > 0}
              removal={WORDS.removeExternalText}
              action={action}
              onChanged={reload}
            />,
          ])}
        />
      </div>
    </Card>
  );
}

/** Buttons that end all sessions of an account, and delete it. */
export function AccountButtons(props: {
  name: string;
  path: string;
  hasSessions?: boolean;
  /** Text about the consequences of deleting the account. */
  removal: string;
  action: Action;
  onChanged: () => void;
  children?: ReactNode;
}) {
  const { name, path, hasSessions = true, removal, action, onChanged } = props;
  const signOut = async () => {
    await send('POST', `${path}/sign-out`);
    onChanged();
    return fill(WORDS.signedOut, { name });
  };
  return (
    <span className="row end">
      {props.children}
      <ConfirmButton
        action={action}
        disabled={!hasSessions}
        label={fill(WORDS.signOutTitle, { name })}
        title={fill(WORDS.signOutTitle, { name })}
        verb={WORDS.signOut}
        text={WORDS.signOutText}
        onConfirm={signOut}
      />
      <ConfirmButton
        action={action}
        label={fill(TEXTS.removeTitle, { name })}
        title={fill(TEXTS.removeTitle, { name })}
        verb={TEXTS.remove}
        text={removal}
        onConfirm={() => send('DELETE', path).then(onChanged)}
      />
    </span>
  );
}
