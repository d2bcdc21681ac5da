import type { AuditDraft, AuditLog } from '../../access/audit-log.ts';
import type { Context } from '../context.ts';
import type { Match } from '../hits/router.ts';
import { HttpProblem, problemOf } from '../problems.ts';
import type { Response } from '../response.ts';
import type { Route } from '../route.ts';

export type AuditSink = Pick<AuditLog, 'record' | 'note'>;

/** Whether the request may change something, and is therefore logged. */
export function leavesTrace({ method, role, asksOnly }: Route, context: Context): boolean {
  return method !== 'GET' && role !== 'public' && !asksOnly?.(context);
}

/** Logs the intent before anything changes, and the outcome before the response is sent. */
export async function withTrace(
  audit: AuditSink,
  route: Route,
  context: Context,
  handle: () => Response | Promise<Response>,
): Promise<Response> {
  const draft = draftOf(route, context);
  await audit.record({ ...draft, phase: 'begun' });
  const [answer, error] = await outcomeOf(handle);
  const status = answer?.status ?? problemOf(error, context.id).answer.status;
  await audit.record({ ...draft, ...context.change, phase: 'ended', outcome: outcomeNamed(status), status });
  if (answer) return answer;
  throw error;
}

/** A known caller without the right, or a cross-site request with a caller's credentials. */
export function noteDenial(
  audit: AuditSink,
  context: Context,
  method: string,
  match: Match,
  error: unknown,
): void {
  const denied = error instanceof HttpProblem && (error.code === 'forbidden' || error.code === 'cross-site');
  const { id, path, caller, source } = context;
  if (!denied || !caller || method === 'GET' || method === 'HEAD') return;
  const action = match.route ? `${method} ${match.route.path}` : method;
  audit.note({
    id,
    phase: 'ended',
    action,
    path,
    actor: caller.name,
    via: caller.via,
    source,
    outcome: 'refused',
    status: 403,
  });
}

function draftOf(route: Route, context: Context): Omit<AuditDraft, 'phase'> {
  return {
    id: context.id,
    actor: context.caller?.name ?? null,
    via: context.caller?.via ?? null,
    source: context.source,
    action: `${route.method} ${route.path}`,
    path: context.path,
    target: context.params.layer === undefined ? null : `layer:${context.params.layer}`,
  };
}

async function outcomeOf(
  handle: () => Response | Promise<Response>,
): Promise<readonly [Response | null, unknown]> {
  try {
    return [await handle(), null];
  } catch (error) {
    return [null, error];
  }
}

function outcomeNamed(status: number): 'done' | 'refused' | 'failed' {
  if (status < 400) return 'done';
  return status < 500 ? 'refused' : 'failed';
}
