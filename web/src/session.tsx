import { createContext, useContext } from 'react';
import { mayWorkOn as isOwnLayer, roleSuffices } from '../../src/access/caller.ts';
import type { ApiResponse } from './api/client.ts';

export type Caller = Omit<ApiResponse<'GET /api/v1/me'>, 'passwordIsInitial'>;
export type Role = Caller['role'];

/** Content of `session.json`. */
export interface Session {
  /** Null if no user is signed in. */
  readonly caller: Caller | null;
  /** Whether there is a sign-in with OpenID Connect. */
  readonly oidc: boolean;
}

export const CallerContext = createContext<Caller | null>(null);

/** For components inside the shell, where a user is signed in. */
export function useCaller(): Caller {
  const caller = useContext(CallerContext);
  if (!caller) throw new Error('no user is signed in');
  return caller;
}

export function mayWorkOn(caller: Caller, layer: string): boolean {
  return may(caller, 'operator') && isOwnLayer(caller, layer);
}

export function may(caller: Caller, role: Role): boolean {
  return roleSuffices(caller.role, role);
}

/** Reports a sign-out to other tabs of this browser. One per tab: a second would receive the tab's own reports. */
export function openSignOutChannel(signedOutElsewhere: () => void) {
  const channel = new BroadcastChannel('tilewarden-session');
  channel.onmessage = signedOutElsewhere;
  return { report: () => channel.postMessage('signed-out'), close: () => channel.close() };
}
