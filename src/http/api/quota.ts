/** `/api/v1/quota`, `/api/v1/usage` and `/api/v1/evictions`. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { invalid, shortened } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { keysOf } from '../../lib/value-path.ts';
import { type Evicted, NOTHING_EVICTED } from '../../quota/clean-up.ts';
import type { EvictedHour } from '../../quota/evictions.ts';
import {
  CLEAN_UP_UNITS,
  cleanUpPeriod,
  EXPIRATION_POLICIES,
  type LayerQuota,
  type Quota,
  type QuotaChange,
  type QuotaConfiguration,
  quotaBytes,
  STORAGE_UNITS,
} from '../../quota/quota-configuration.ts';
import type { UsageReport } from '../../quota/quota-service.ts';
import type { LayerUsage } from '../../quota/usage-report.ts';
import { isSameVersion } from '../negotiate.ts';
import { HttpProblem } from '../problems.ts';
import { jsonResponse, type Response } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { amount, count, name, parameters, tileSetName, time, wholeNumber } from './values.ts';

const positive = z.int().min(1).max(999_999_999);
const policy = z.enum(EXPIRATION_POLICIES);
const plain = {
  enabled: z.boolean(),
  diskBlockSize: positive,
  cacheCleanUpFrequency: positive,
  cacheCleanUpUnits: z.enum(keysOf(CLEAN_UP_UNITS)),
  maxConcurrentCleanUps: positive,
  globalExpirationPolicyName: policy,
};
const ignored = z.number().exactOptional().describe('Computed from the other fields; ignored');
const size = { value: z.number().min(0), units: z.enum(keysOf(STORAGE_UNITS)) };
const quota = z.strictObject({ ...size, bytes: ignored }).transform(({ value, units }) => ({ value, units }));

/** Only the fields to change. The response to `GET` is accepted too. */
export const quotaBody = z
  .strictObject({
    ...plain,
    cleanUpSeconds: ignored,
    globalQuota: quota,
    layerQuotas: z
      .array(z.strictObject({ layer: name, expirationPolicyName: policy, quota }))
      .describe('Replaces the whole list; [] removes every layer quota'),
  })
  .exactPartial();

const sizedQuota = z.object({ ...size, bytes: count });
export const quotaResponse = z.object({
  ...plain,
  cleanUpSeconds: z.number(),
  globalQuota: sizedQuota,
  layerQuotas: z.array(z.object({ layer: z.string(), expirationPolicyName: policy, quota: sizedQuota })),
});

const evictedResponse = z
  .object({ pages: count, ...amount })
  .describe('Evicted for quotas since the database was created');
export const usageResponse = z.object({
  ...amount,
  sweeping: count,
  sweepingFiles: count,
  quota: quotaResponse,
  share: z.number().nullable(),
  evicted: evictedResponse,
  growthPerDay: z.number().nullable(),
  fullInDays: z.number().nullable().describe('Days until the quota is used up or a disk is nearly full'),
  disks: z.array(
    z.object({
      store: z.string(),
      freeBytes: count,
      freePercent: z.number().describe('Of the space or the inodes, whichever is less'),
      folder: z.string(),
      minFreePercent: z.number().describe('Below this nothing is stored'),
      storing: z.boolean().describe('False: tiles are served but not stored because the disk is full'),
    }),
  ),
  layers: z.array(
    z.object({
      name: z.string(),
      ...amount,
      quota: count.nullable(),
      share: z.number().nullable(),
      evicted: evictedResponse,
      tileSets: z.array(
        z.object({
          ...tileSetName,
          parameters: parameters.nullable().describe('Null: the defaults, or unknown'),
          ...amount,
          zooms: z.array(z.object({ z: z.number().int(), ...amount })),
        }),
      ),
    }),
  ),
});

const column = z.array(z.number());
export const evictionsQuery = z.strictObject({ days: wholeNumber(1, 31).default(7) });
export const evictionsResponse = z.object({
  from: time,
  stepSeconds: z.number(),
  tiles: column,
  bytes: column,
  layers: z.array(z.object({ name: z.string(), tiles: column, bytes: column })),
});

const HOUR_MS = 3_600_000;
const HOURS_OF_A_DAY = 24;

export async function showQuota(_: Call, { quota }: ApiDeps) {
  return answerWith(await quota.settings.read());
}

export async function changeQuota(call: Call<{ body: typeof quotaBody }>, deps: ApiDeps) {
  const { cleanUpSeconds: _, ...change } = call.body;
  const after = await applyQuota(call, deps, change, (current) => {
    if (isSameVersion(call.context.headers['if-match'], etagOf(current))) return;
    throw new HttpProblem(
      'precondition-failed',
      'The quota was changed in the meantime, so this change is not applied; read /api/v1/quota again.',
    );
  });
  return answerWith(after);
}

/** `check` sees the current quota in the same transaction: if it throws, nothing is changed. */
export async function applyQuota(
  { note }: Call,
  { catalog, quota }: ApiDeps,
  change: QuotaChange,
  check: (current: QuotaConfiguration) => void = () => {},
): Promise<QuotaConfiguration> {
  checkLayerQuotas(catalog, change.layerQuotas, (await quota.settings.read()).layerQuotas);
  let before: QuotaConfiguration | null = null;
  const after = await quota.settings.change(change, (current) => {
    before = current;
    check(current);
  });
  note({ target: 'quota', before, after });
  return after;
}

/** An unknown layer may keep its quota: the response to `GET` is accepted after a layer has left the file. */
function checkLayerQuotas(
  catalog: ApiDeps['catalog'],
  quotas: readonly LayerQuota[] = [],
  current: readonly LayerQuota[],
): void {
  const seen = new Set<string>();
  const known = new Set(current.map(({ layer }) => layer));
  for (const { layer } of quotas) {
    if (!known.has(layer) && !catalog.layer(layer))
      throw invalid(`layerQuotas: unknown layer ${shortened(layer)}.`);
    if (seen.has(layer)) throw invalid(`layerQuotas: layer ${shortened(layer)} is listed twice.`);
    seen.add(layer);
  }
}

export async function showUsage(_: Call, { quota }: ApiDeps) {
  return usageDocument(await quota.usage());
}

export async function listEvictions(
  { query }: Call<{ query: typeof evictionsQuery }>,
  { quota, clock }: ApiDeps,
) {
  const hours = query.days * HOURS_OF_A_DAY;
  const first = Math.floor(clock.now() / HOUR_MS) - hours + 1;
  return evictionDocument(await quota.evictedHours(first * HOUR_MS), first, hours);
}

function quotaDocument(configuration: QuotaConfiguration) {
  const { globalQuota, layerQuotas, ...others } = configuration;
  return {
    ...others,
    cleanUpSeconds: cleanUpPeriod(configuration) / 1000,
    globalQuota: withBytes(globalQuota),
    layerQuotas: layerQuotas.map((entry) => ({ ...entry, quota: withBytes(entry.quota) })),
  };
}

function withBytes(quota: Quota) {
  return { ...quota, bytes: quotaBytes(quota) };
}

function answerWith(configuration: QuotaConfiguration): Response {
  return jsonResponse(quotaDocument(configuration), ['ETag', etagOf(configuration)]);
}

function etagOf(configuration: QuotaConfiguration): string {
  const digest = createHash('sha256').update(JSON.stringify(quotaDocument(configuration)));
  return `"${digest.digest('base64url').slice(0, 22)}"`;
}

function usageDocument(report: UsageReport) {
  const { sweeping, quota: configuration, disks, layers, ...others } = report;
  const { parameters: _, evictedByLayer: __, ...shown } = others;
  return {
    ...shown,
    sweeping: sweeping.bytes,
    sweepingFiles: sweeping.files,
    quota: quotaDocument(configuration),
    share: usedShare(report.bytes, quotaBytes(configuration.globalQuota)),
    disks: [...disks].map(([store, room]) => ({
      store,
      ...room,
      freePercent: Math.round(room.freePercent * 100) / 100,
    })),
    layers: layers.map((layer) => layerDocument(layer, report)),
  };
}

function layerDocument(layer: LayerUsage, report: UsageReport) {
  const own = report.quota.layerQuotas.find((entry) => entry.layer === layer.name);
  const limit = own ? quotaBytes(own.quota) : null;
  const share = limit === null ? null : usedShare(layer.bytes, limit);
  const tileSets = layer.tileSets.map((set) => {
    const values = set.parametersId === null ? null : report.parameters.get(set.parametersId);
    return { ...set, parameters: values ? Object.fromEntries(values) : null };
  });
  const evicted: Evicted = report.evictedByLayer.get(layer.name) ?? NOTHING_EVICTED;
  return { ...layer, quota: limit, share, evicted, tileSets };
}

function usedShare(bytes: number, limit: number): number | null {
  return limit === 0 ? null : Math.round((bytes / limit) * 10_000) / 10_000;
}

/** Each column has one value for each hour; the last is the current hour. */
function evictionDocument(rows: readonly EvictedHour[], first: number, hours: number) {
  const columns = () => ({ tiles: Array<number>(hours).fill(0), bytes: Array<number>(hours).fill(0) });
  const all = columns();
  const layers = new Map<string, typeof all>();
  for (const { layer, at, tiles, bytes } of rows) {
    const place = at / HOUR_MS - first;
    for (const into of [all, getOrCreate(layers, layer, columns)]) {
      into.tiles[place] = (into.tiles[place] ?? 0) + tiles;
      into.bytes[place] = (into.bytes[place] ?? 0) + bytes;
    }
  }
  const byName = [...layers].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    from: isoTime(first * HOUR_MS),
    stepSeconds: HOUR_MS / 1000,
    ...all,
    layers: byName.map(([layer, own]) => ({ name: layer, ...own })),
  };
}
