import type { AuditDraft, AuditLog } from '../../access/audit-log.ts';
import type { Answer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Match } from '../hits/router.ts';
import { HttpProblem, problemOf } from '../problems.ts';
import type { Route } from '../route.ts';

export type AuditSink = Pick<AuditLog, 'record' | 'note'>;

/** Whether what is asked for may change something, so that it leaves a trace. */
export function leavesTrace({ method, role, asksOnly }: Route, exchange: Exchange): boolean {
  return method !== 'GET' && role !== 'public' && !asksOnly?.(exchange);
}

/** Nothing is changed before the log says who is about to, and nothing answered before it says what came of it. */
export async function withTrace(
  audit: AuditSink,
  route: Route,
  exchange: Exchange,
  handle: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const draft = draftOf(route, exchange);
  await audit.record({ ...draft, phase: 'begun' });
  const [answer, error] = await outcomeOf(handle);
  const status = answer?.status ?? problemOf(error, exchange.id).answer.status;
  await audit.record({ ...draft, ...exchange.change, phase: 'ended', outcome: outcomeNamed(status), status });
  if (answer) return answer;
  throw error;
}

/** A known caller who tried what it may not do, or a page of another site that tried with a caller's credentials. */
export function noteDenial(
  audit: AuditSink,
  exchange: Exchange,
  method: string,
  match: Match,
  error: unknown,
): void {
  const denied = error instanceof HttpProblem && (error.code === 'forbidden' || error.code === 'cross-site');
  const { id, path, caller, source } = exchange;
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

function draftOf(route: Route, exchange: Exchange): Omit<AuditDraft, 'phase'> {
  return {
    id: exchange.id,
    actor: exchange.caller?.name ?? null,
    via: exchange.caller?.via ?? null,
    source: exchange.source,
    action: `${route.method} ${route.path}`,
    path: exchange.path,
    target: exchange.params.layer === undefined ? null : `layer:${exchange.params.layer}`,
  };
}

async function outcomeOf(handle: () => Answer | Promise<Answer>): Promise<readonly [Answer | null, unknown]> {
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
