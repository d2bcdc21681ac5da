import { z } from 'zod';
import { inputName } from '../changes/change-options.ts';
import { NOTIFIED_EVENTS } from '../changes/deliveries/delivery-targets.ts';
import { FOLLOWED_TYPES, type FollowSettings } from '../changes/follow/follow.ts';
import { text, texts, whole } from '../lib/schemas.ts';
import { headerName, httpAddress, httpOptions } from '../sources/http-options.ts';

const DAY = 86_400;

const followedServer = z
  .strictObject({
    name: inputName.describe('Name of the follow, unique'),
    type: z.enum(FOLLOWED_TYPES).describe('The kind of server'),
    url: httpAddress.describe(
      'Address of the service or its capabilities; of a GeoServer, e.g. https://host/geoserver',
    ),
    every: whole(5, DAY).default(60).describe('Seconds between passes'),
    layers: texts
      .min(1)
      .default(['*'])
      .describe("Patterns of the server's layer names; * stands for any text"),
    prefix: z.string().max(100).default('').describe("Put before the server's names"),
    new: z.enum(['declare', 'report']).default('declare').describe('What happens to a new layer'),
    gone: z.enum(['disable', 'report']).default('disable').describe('What happens when a layer is gone'),
    gridSets: texts
      .min(1)
      .nullable()
      .default(null)
      .describe('Grid sets of new layers; null: every fitting one'),
    username: httpOptions.username.describe(
      "Account of the server; sources use it too, except GeoServer's, where it is for its REST interface",
    ),
    password: text.optional(),
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    error: 'needs both username and password, or neither',
    path: ['password'],
  }) satisfies z.ZodType<FollowSettings>;

export const followSchema = z
  .array(followedServer)
  .max(100)
  .refine(hasUniqueNames, { error: 'must not contain two entries with the same name' });

const name = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, {
    error: 'must be a name of at most 64 letters, digits, dots, hyphens and underscores',
  })
  .describe('Shown in the list of deliveries');

const purgeTarget = z.strictObject({
  name,
  url: httpAddress.describe('Where purge requests are sent'),
  method: z.enum(['PURGE', 'BAN', 'POST', 'PUT', 'DELETE', 'GET']).default('PURGE'),
  header: headerName.default('xkey-purge').describe('Carries the keys'),
  headers: httpOptions.headers,
});

const notifyTarget = z.strictObject({
  name,
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
