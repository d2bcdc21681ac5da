import type { Accounts } from '../../access/open-accounts.ts';
import type { Route } from '../route.ts';
import { auditRoutes } from './audit.ts';
import { meRoutes } from './me.ts';
import { sessionRoutes } from './session.ts';
import { tokenRoutes } from './tokens.ts';
import { userRoutes } from './users.ts';

export type AccountParts = Pick<Accounts, 'users' | 'tokens' | 'sessions' | 'authenticator' | 'audit'>;

export function accountRoutes(accounts: AccountParts): readonly Route[] {
  return [
    ...userRoutes(accounts.users),
    ...tokenRoutes(accounts.tokens),
    ...meRoutes(accounts),
    ...sessionRoutes(accounts),
    ...auditRoutes(accounts.audit),
  ];
}
