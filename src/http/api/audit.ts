import type { AuditLog } from '../../access/audit-log.ts';
import type { AuditFilter } from '../../access/read-audit-files.ts';
import { invalid } from '../../domain/errors.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';

const DEFAULT_LIMIT = 100;
const HIGHEST_LIMIT = 1000;
const TEXTS = ['actor', 'source', 'text', 'target', 'outcome'] as const;
const TIMES = ['since', 'until'] as const;
const OUTCOMES: readonly string[] = ['done', 'refused', 'failed', 'unknown'];

/** `/api/v1/audit?actor=…&source=…&text=…&target=…&outcome=…&since=…&until=…&limit=…`, newest first. */
export function auditRoutes(audit: Pick<AuditLog, 'read'>): readonly Route[] {
  return [{ method: 'GET', path: '/api/v1/audit', role: 'admin', handler: list }];

  async function list({ query }: Exchange): Promise<Answer> {
    return jsonAnswer({ entries: await audit.read(filterOf(new URLSearchParams(query))) });
  }
}

function filterOf(query: URLSearchParams): AuditFilter {
  checkOutcome(query.get('outcome'));
  const texts = TEXTS.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : []));
  const times = TIMES.flatMap((name) => (query.has(name) ? [[name, timeIn(query, name)]] : []));
  return { limit: limitIn(query), ...Object.fromEntries([...texts, ...times]) };
}

function checkOutcome(outcome: string | null): void {
  if (outcome === null || OUTCOMES.includes(outcome)) return;
  throw invalid(`outcome must be one of ${OUTCOMES.join(', ')}.`);
}

function timeIn(query: URLSearchParams, name: string): number {
  const time = Date.parse(query.get(name) ?? '');
  if (!Number.isNaN(time)) return time;
  throw invalid(`${name} must be a time such as 2026-01-31T12:00:00Z.`);
}

function limitIn(query: URLSearchParams): number {
  const text = query.get('limit') ?? String(DEFAULT_LIMIT);
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= HIGHEST_LIMIT) return Number(text);
  throw invalid(`limit must be a whole number from 1 to ${HIGHEST_LIMIT}.`);
}
