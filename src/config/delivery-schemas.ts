import { z } from 'zod';
import { NOTIFIED_EVENTS } from '../changes/deliveries/delivery-targets.ts';
import { text } from '../lib/schemas.ts';
import { headerName, httpAddress, httpOptions } from '../sources/http-options.ts';

const name = () =>
  z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, {
      error: 'must be a name of at most 64 letters, digits, dots, hyphens and underscores',
    })
    .describe('Shown in the list of deliveries');

const purgeTarget = z.strictObject({
  name: name(),
  url: httpAddress.describe('Where purge requests are sent'),
  method: z.enum(['PURGE', 'BAN', 'POST', 'PUT', 'DELETE', 'GET']).default('PURGE'),
  header: headerName.default('xkey-purge').describe('Carries the keys'),
  headers: httpOptions.headers,
});

const notifyTarget = z.strictObject({
  name: name(),
  url: httpAddress.describe('Where notifications are posted'),
  secret: text.describe('Signs the body: X-Hub-Signature-256'),
  events: z
    .array(z.enum(NOTIFIED_EVENTS))
    .min(1)
    .default([...NOTIFIED_EVENTS])
    .describe('All of them when absent'),
});

const UNIQUE = { error: 'must not contain two targets with the same name' };

export const purgeSchema = z.array(purgeTarget).max(16).refine(hasUniqueNames, UNIQUE);
export const notifySchema = z.array(notifyTarget).max(16).refine(hasUniqueNames, UNIQUE);

function hasUniqueNames(targets: readonly { readonly name: string }[]): boolean {
  return new Set(targets.map((target) => target.name)).size === targets.length;
}
