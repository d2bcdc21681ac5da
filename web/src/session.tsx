import { createContext, useContext } from 'react';

export type Role = 'viewer' | 'operator' | 'admin';

export interface Caller {
  readonly name: string;
  readonly role: Role;
  readonly layers: readonly string[];
  readonly via: string;
}

/** What `session.json` answers. */
export interface Session {
  /** Null: a stranger. */
  readonly caller: Caller | null;
}

const ORDER: readonly Role[] = ['viewer', 'operator', 'admin'];

export const CallerContext = createContext<Caller | null>(null);

/** Who is signed in; only inside the shell. */
export function useCaller(): Caller {
  const caller = useContext(CallerContext);
  if (!caller) throw new Error('nobody is signed in');
  return caller;
}

export function may(caller: Caller, role: Role): boolean {
  return ORDER.indexOf(caller.role) >= ORDER.indexOf(role);
}
