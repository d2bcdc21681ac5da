import { z } from 'zod';
import type { AuditEntry } from '../../access/audit-log.ts';
import { WAYS_IN } from '../../access/caller.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isRecord } from '../../lib/value-path.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { callerName, type Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { readQuery } from '../wire/read-body.ts';
import { anyTime, time, wholeNumber } from '../wire/values.ts';
import { changeDocument, changeNote } from './catalog-changes.ts';

const OUTCOMES = ['done', 'refused', 'failed'] as const;

export const auditQuery = z
  .object({
    actor: z.string(),
    source: z.string(),
    text: z.string(),
    target: z.string(),
    outcome: z.enum([...OUTCOMES, 'unknown']),
    since: anyTime,
    until: anyTime,
  })
  .exactPartial()
  .extend({ limit: wholeNumber(1, 1000).default(100) });

export const auditAnswer = z.object({
  entries: z.array(
    z.object({
      time,
      id: z.string().nullable(),
      phase: z.enum(['begun', 'ended']),
      actor: z.string().nullable(),
      via: z.enum(WAYS_IN).nullable(),
      source: z.string().nullable(),
      action: z.string(),
      path: z.string().nullable(),
      target: z.string().nullable(),
      summary: z.string().nullable().describe('In words; null: the action says it'),
      before: z.unknown(),
      after: z.unknown(),
      outcome: z.enum(OUTCOMES).nullable(),
      status: z.number().nullable(),
    }),
  ),
});

/** `/api/v1/audit`, newest first; `restore` declares a layer again as it was before a change. */
export function auditRoutes({ accounts: { audit }, editor }: RouteDeps): readonly Route[] {
  const path = '/api/v1/audit';
  return [
    { method: 'GET', path, role: 'admin', handler: list },
    { method: 'POST', path: `${path}/{id}/restore`, role: 'admin', handler: restore },
  ];

  async function list(exchange: Exchange): Promise<Answer> {
    return jsonAnswer({ entries: await audit.read(readQuery(exchange, auditQuery)) });
  }

  /** Secrets are hidden in the log: those of a layer that still exists are taken from it, others must be given again. */
  async function restore(exchange: Exchange): Promise<Answer> {
    const document = formerDocument(await entryOf(exchange.param('id')));
    const change = await editor.restore(document, callerName(exchange));
    exchange.change = { ...changeNote(change), summary: `restored layer ${change.name}` };
    return jsonAnswer(changeDocument(change));
  }

  async function entryOf(id: string): Promise<AuditEntry> {
    const [entry] = await audit.read({ id, outcome: 'done', limit: 1 });
    if (entry) return entry;
    throw new TilewardenError('entry-unknown', 'There is no such entry in the audit log.');
  }
}

function formerDocument({ target, before }: AuditEntry): object {
  const document = isRecord(before) && target?.startsWith('layer:') ? before.document : null;
  if (isRecord(document)) return document;
  throw new TilewardenError('entry-conflict', 'The entry is not a change of a layer that can be restored.');
}
