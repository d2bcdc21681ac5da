import { z } from 'zod';
import { ROLES } from '../../access/caller.ts';
import { names, time } from './openapi-values.ts';

const role = z.enum(ROLES);

export const callerAnswer = z.object({
  name: z.string(),
  role,
  layers: names,
  via: z.enum(['password', 'session', 'token', 'machine']),
  passwordIsInitial: z.boolean(),
});

export const sessionAnswer = z.object({ name: z.string(), role, layers: names });

export const userAnswer = z.object({
  name: z.string(),
  role,
  layers: names,
  passwordIsInitial: z.boolean(),
  createdAt: time,
  changedAt: time,
});

export const tokenAnswer = z.object({
  id: z.number().int(),
  name: z.string(),
  role,
  layers: names,
  createdBy: z.string(),
  createdAt: time,
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
});

export const auditQuery = z.object({
  actor: z.string().optional(),
  source: z.string().optional(),
  text: z.string().optional(),
  target: z.string().optional(),
  outcome: z.string().optional(),
  since: time.optional(),
  until: time.optional(),
  limit: z.number().int().min(1).max(1000).default(100),
});

export const auditAnswer = z.object({
  entries: z.array(
    z.object({
      time,
      id: z.string().nullable(),
      phase: z.enum(['begun', 'ended']),
      actor: z.string().nullable(),
      source: z.string().nullable(),
      action: z.string(),
      path: z.string().nullable(),
      target: z.string().nullable(),
      before: z.unknown(),
      after: z.unknown(),
      outcome: z.enum(['done', 'refused', 'failed']).nullable(),
      status: z.number().nullable(),
    }),
  ),
});
