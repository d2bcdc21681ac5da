import { z } from 'zod';
import type { AuditEntry } from '../../access/audit-log.ts';
import { WAYS_IN } from '../../access/caller.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isRecord } from '../../lib/value-path.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { changeDocument, changeNote, restoreSchedules } from './catalog-changes.ts';
import { time, timeInQuery, wholeNumber } from './values.ts';

const OUTCOMES = ['done', 'refused', 'failed'] as const;

export const auditQuery = z
  .strictObject({
    actor: z.string(),
    account: z.string(),
    source: z.string(),
    text: z.string(),
    target: z.string(),
    outcome: z.enum([...OUTCOMES, 'unknown']),
    since: timeInQuery,
    until: timeInQuery,
  })
  .exactPartial()
  .extend({ limit: wholeNumber(1, 1000).default(100) });

export const auditResponse = z.object({
  entries: z.array(
    z.object({
      time,
      id: z.string().nullable(),
      phase: z.enum(['begun', 'ended']),
      actor: z.string().nullable(),
      account: z
        .string()
        .nullable()
        .describe('The account of the actor, e.g. user:mary, or oidc: with issuer and sub'),
      via: z.enum(WAYS_IN).nullable(),
      source: z.string().nullable(),
      action: z.string(),
      path: z.string().nullable(),
      target: z.string().nullable(),
      summary: z.string().nullable().describe('A sentence; null: the action is clear by itself'),
      before: z.unknown(),
      after: z.unknown(),
      outcome: z.enum(OUTCOMES).nullable(),
      status: z.number().nullable(),
    }),
  ),
});

/** Newest first. */
export async function listAudit({ query }: Call<{ query: typeof auditQuery }>, { accounts }: ApiDeps) {
  return { entries: await accounts.audit.read(query) };
}

/** The log hides secrets: an existing layer keeps its own. Without them the layer must be declared with PUT. */
export async function restoreLayer({ params, caller, note }: Call<{ params: 'id' }>, deps: ApiDeps) {
  const { accounts, editor } = deps;
  const [entry] = await accounts.audit.read({ id: params.id, outcome: 'done', limit: 1 });
  if (!entry) throw new TilewardenError('entry-unknown', 'There is no such entry in the audit log.');
  const change = await editor.put('layer', formerDocument(entry), { by: caller.name, dryRun: false });
  note({ ...changeNote(change), summary: `restored layer ${change.name}` });
  return { ...changeDocument(change), ...(await restoreSchedules(entry, change, caller, deps)) };
}

function formerDocument({ target, before }: AuditEntry): object {
  const document = isRecord(before) && target?.startsWith('layer:') ? before.document : null;
  if (isRecord(document)) return document;
  throw new TilewardenError('entry-conflict', 'The entry is not a change of a layer that can be restored.');
}
