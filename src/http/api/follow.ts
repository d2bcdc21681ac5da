import { z } from 'zod';
import {
  CHANGING_ACTIONS,
  FOLLOWED_TYPES,
  PASS_ACTIONS,
  type PassReport,
} from '../../changes/follow/follow.ts';
import { shortened, TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { count, time, yesOrNo } from './values.ts';

export const followListResponse = z.object({
  follow: z.array(
    z.object({
      name: z.string(),
      type: z.enum(FOLLOWED_TYPES),
      state: z.enum(['ok', 'failing']),
      lastAt: time.nullable().describe('Of the latest pass that succeeded'),
      lastError: z.string().nullable(),
      layers: count.describe('Layers that are kept in step'),
      pending: count.describe('Layers that are new, missed or gone, and that nothing was done about'),
    }),
  ),
});

export const passResponse = z.object({
  at: time,
  counts: z.record(z.enum(PASS_ACTIONS), count),
  entries: z
    .array(
      z.object({
        layer: z.string(),
        action: z.enum(PASS_ACTIONS),
        detail: z.string().nullable().describe('Changed fields, or a reason'),
      }),
    )
    .describe('At most 1,000; counts counts all'),
});

export const passListResponse = z.object({ passes: z.array(passResponse) });

export const runQuery = z.strictObject({
  dryRun: yesOrNo.default(false).describe('Only report what a pass would do'),
});

type OneFollow = Call<{ params: 'name' }>;

export async function listFollow(_: Call, { follow }: ApiDeps) {
  const all = await follow.list();
  return { follow: all.map((one) => ({ ...one, lastAt: isoTime(one.lastAt) })) };
}

export async function listPasses({ params: { name } }: OneFollow, { follow }: ApiDeps) {
  if (!(await follow.list()).some((one) => one.name === name)) throw unknown(name);
  return { passes: (await follow.passes(name)).map(passDocument) };
}

export async function runFollow(
  { params: { name }, query, context, note }: Call<{ params: 'name'; query: typeof runQuery }>,
  { follow }: ApiDeps,
) {
  const report = await follow.run(name, query.dryRun, context.signal).catch((error: unknown) => {
    if (!(error instanceof Error) || context.signal.aborted) throw error;
    throw new TilewardenError('source-unavailable', error.message, { cause: error });
  });
  if (!report) throw unknown(name);
  const changes = CHANGING_ACTIONS.reduce((sum, action) => sum + report.counts[action], 0);
  note({ target: `follow:${name}`, summary: `ran a pass of ${name}`, after: { changes } });
  return passDocument(report);
}

function passDocument({ at, ...report }: PassReport) {
  return { at: isoTime(at), ...report };
}

function unknown(name: string): TilewardenError {
  return new TilewardenError('entry-unknown', `There is no follow ${shortened(name)}.`);
}
