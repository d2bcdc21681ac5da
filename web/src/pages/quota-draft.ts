import type { ApiBody, ApiResponse } from '../api/client.ts';
import { bytesText, fill, numberField, typedNumber } from '../format.ts';
import { TEXTS } from '../texts.ts';

type Usage = ApiResponse<'GET /api/v1/usage'>;
export type Quota = ApiResponse<'GET /api/v1/quota'>;
type Unit = Quota['globalQuota']['units'];
type Policy = Quota['globalExpirationPolicyName'];

export const UNITS: readonly Unit[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
export const POLICIES: readonly Policy[] = ['LFU', 'LRU'];

export interface LayerDraft {
  readonly value: string;
  readonly units: Unit;
  readonly policy: Policy;
}

/** The form as typed: numbers are texts until they are sent. */
export interface Draft extends LayerDraft {
  readonly enabled: boolean;
  readonly frequency: string;
  readonly frequencyUnits: Quota['cacheCleanUpUnits'];
  /** Limits by layer; null: the limit is to be removed. */
  readonly layers: Readonly<Record<string, LayerDraft | null>>;
}

/** Only the values that this user has typed, so that changes by other users are shown and not overwritten. */
export type Changes = Partial<Draft>;

export interface Effect {
  readonly text: string;
  readonly removes: boolean;
}

const WORDS = TEXTS.quota;

export function draftOf(quota: Quota, changes: Changes): Draft {
  const layers = quota.layerQuotas.map(({ layer, quota: { value, units }, expirationPolicyName }) => {
    return [layer, { value: numberField(value), units, policy: expirationPolicyName }] as const;
  });
  return {
    enabled: quota.enabled,
    value: numberField(quota.globalQuota.value),
    units: quota.globalQuota.units,
    policy: quota.globalExpirationPolicyName,
    frequency: String(quota.cacheCleanUpFrequency),
    frequencyUnits: quota.cacheCleanUpUnits,
    ...changes,
    layers: { ...Object.fromEntries(layers), ...changes.layers },
  };
}

/** The body of `PUT /api/v1/quota` with only the changed fields. The limits of all layers are one field. */
export function bodyOf(draft: Draft, changes: Changes): ApiBody<'PUT /api/v1/quota'> {
  const { enabled, policy, frequency, frequencyUnits, layers } = changes;
  const changed = (...names: (keyof Draft)[]) => names.some((name) => changes[name] !== undefined);
  return {
    ...(enabled !== undefined && { enabled }),
    ...(changed('value', 'units') && { globalQuota: { value: amountOf(draft), units: draft.units } }),
    ...(policy !== undefined && { globalExpirationPolicyName: policy }),
    ...(frequency !== undefined && { cacheCleanUpFrequency: Number(frequency) }),
    ...(frequencyUnits !== undefined && { cacheCleanUpUnits: frequencyUnits }),
    ...(layers !== undefined && { layerQuotas: layersOf(draft).map(layerBody) }),
  };
}

function layerBody([layer, draft]: readonly [string, LayerDraft]) {
  const { units, policy } = draft;
  return { layer, expirationPolicyName: policy, quota: { value: amountOf(draft), units } };
}

export function layersOf({ layers }: Draft): readonly (readonly [layer: string, draft: LayerDraft])[] {
  return Object.entries(layers).flatMap(([layer, draft]) => (draft ? [[layer, draft] as const] : []));
}

export function isPositive(text: string): boolean {
  return (typedNumber(text) ?? 0) > 0;
}

export function isWhole(text: string): boolean {
  return /^[1-9]\d{0,8}$/.test(text.trim());
}

export function isValid(draft: Draft): boolean {
  const limits = [draft.value, ...layersOf(draft).map(([, { value }]) => value)];
  return isWhole(draft.frequency) && limits.every(isPositive);
}

/** Effects of saving the draft; for an invalid one, a text that says so. */
export function effectsOf(draft: Draft, usage: Usage): readonly Effect[] {
  if (!isValid(draft)) return [{ text: TEXTS.seed.faulty, removes: false }];
  if (!draft.enabled) return [{ text: WORDS.effectOff, removes: false }];
  const excesses = [
    [WORDS.effectAll, usage.bytes - bytesOf(draft)] as const,
    ...layersOf(draft).map(([layer, entry]) => {
      const used = usage.layers.find(({ name }) => name === layer)?.bytes ?? 0;
      return [layer, used - bytesOf(entry)] as const;
    }),
  ].filter(([, excess]) => excess > 0);
  if (excesses.length === 0) return [{ text: WORDS.effectNothing, removes: false }];
  return excesses.map(([where, excess]) => ({
    text: fill(WORDS.effectRemoves, { bytes: bytesText(excess), where }),
    removes: true,
  }));
}

function bytesOf(draft: LayerDraft): number {
  return amountOf(draft) * 1024 ** UNITS.indexOf(draft.units);
}

/** The amount of a valid draft. */
function amountOf({ value }: LayerDraft): number {
  return typedNumber(value) ?? 0;
}
