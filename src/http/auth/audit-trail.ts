import type { AuditLog } from '../../access/audit-log.ts';
import { accountOf } from '../../access/caller.ts';
import type { Context } from '../context.ts';
import { HttpProblem, problemOf } from '../problems.ts';
import type { Response } from '../response.ts';
import type { Route } from '../route.ts';

export type AuditSink = Pick<AuditLog, 'record' | 'note'>;

/** Whether the request may change something, and is therefore audited. */
export function leavesTrace({ method, role, asksOnly }: Route, context: Context): boolean {
  return method !== 'GET' && role !== 'public' && !asksOnly?.(context);
}

/** Audits the request before anything changes, and its outcome before the response is sent. */
export async function withTrace(
  audit: AuditSink,
  route: Route,
  context: Context,
  handle: () => Response | Promise<Response>,
): Promise<Response> {
  const { layer } = context.params;
  const target = layer === undefined ? null : `layer:${layer}`;
  const administrative = route.role === 'admin';
  const draft = { ...draftOf(`${route.method} ${route.path}`, context), target, administrative };
  await audit.record({ ...draft, phase: 'begun' });
  const [result] = await Promise.allSettled([(async () => handle())()]);
  const isAnswered = result.status === 'fulfilled';
  const { status } = isAnswered ? result.value : problemOf(result.reason, context.id).answer;
  await audit.record({ ...draft, ...context.change, phase: 'ended', outcome: outcomeNamed(status), status });
  if (isAnswered) return result.value;
  throw result.reason;
}

/** Notes a change refused to a known caller: a missing right, or a cross-site request with the caller's credentials. */
export function noteDenial(
  audit: AuditSink,
  context: Context,
  method: string,
  { route }: { readonly route: Route | null },
  error: unknown,
): void {
  const denied = error instanceof HttpProblem && (error.code === 'forbidden' || error.code === 'cross-site');
  if (!denied || !context.caller || method === 'GET' || method === 'HEAD') return;
  const action = route ? `${method} ${route.path}` : method;
  audit.note({ ...draftOf(action, context), phase: 'ended', outcome: 'refused', status: 403 });
}

function draftOf(action: string, { id, caller, source, path }: Context) {
  const who = caller && { actor: caller.name, account: accountOf(caller), via: caller.via };
  return { id, ...who, source, action, path };
}

function outcomeNamed(status: number): 'done' | 'refused' | 'failed' {
  if (status < 400) return 'done';
  return status < 500 ? 'refused' : 'failed';
}
