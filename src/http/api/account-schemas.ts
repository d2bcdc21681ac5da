import { z } from 'zod';
import { ROLES } from '../../access/caller.ts';

const layers = z.array(z.string());
const role = z.enum(ROLES);

export const userSchema = z.strictObject({
  name: z.string(),
  password: z.string(),
  role,
  layers: layers.default(['*']),
});

export const userChangesSchema = z
  .strictObject({
    password: z.string().optional(),
    role: role.optional(),
    layers: layers.optional(),
  })
  .refine((changes) => Object.keys(changes).length > 0, 'say what changes: password, role or layers');

export const tokenSchema = z.strictObject({
  name: z.string(),
  role,
  layers: layers.default(['*']),
  /** ISO 8601; null or absent: it does not expire. */
  expiresAt: z.iso.datetime({ offset: true }).nullable().default(null),
});

export const loginSchema = z.strictObject({ name: z.string(), password: z.string() });

export const newPasswordSchema = z.strictObject({ current: z.string(), password: z.string() });
