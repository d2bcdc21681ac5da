import type { Answer } from '../api/client.ts';
import { bytesText } from '../format.ts';
import { TEXTS } from '../texts.ts';

type Usage = Answer<'/api/v1/usage'>;
type Quota = Usage['quota'];
type Unit = Quota['globalQuota']['units'];
type Policy = Quota['globalExpirationPolicyName'];

export const UNITS: readonly Unit[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
export const POLICIES: readonly Policy[] = ['LFU', 'LRU'];

export interface LayerDraft {
  readonly layer: string;
  readonly value: string;
  readonly units: Unit;
  readonly policy: Policy;
}

/** The form as it is typed: numbers are texts until they are sent. */
export interface Draft {
  readonly enabled: boolean;
  readonly value: string;
  readonly units: Unit;
  readonly policy: Policy;
  readonly frequency: string;
  readonly frequencyUnits: Quota['cacheCleanUpUnits'];
  readonly layers: readonly LayerDraft[];
}

export interface Effect {
  readonly text: string;
  readonly removes: boolean;
}

const WORDS = TEXTS.quota;

export function draftOf(quota: Quota): Draft {
  return {
    enabled: quota.enabled,
    value: String(quota.globalQuota.value),
    units: quota.globalQuota.units,
    policy: quota.globalExpirationPolicyName,
    frequency: String(quota.cacheCleanUpFrequency),
    frequencyUnits: quota.cacheCleanUpUnits,
    layers: quota.layerQuotas.map((entry) => ({
      layer: entry.layer,
      value: String(entry.quota.value),
      units: entry.quota.units,
      policy: entry.expirationPolicyName,
    })),
  };
}

/** The body of `PUT /api/v1/quota`. */
export function changeOf(draft: Draft): object {
  return {
    enabled: draft.enabled,
    globalQuota: { value: Number(draft.value), units: draft.units },
    globalExpirationPolicyName: draft.policy,
    cacheCleanUpFrequency: Number(draft.frequency),
    cacheCleanUpUnits: draft.frequencyUnits,
    layerQuotas: draft.layers.map(({ layer, value, units, policy }) => ({
      layer,
      expirationPolicyName: policy,
      quota: { value: Number(value), units },
    })),
  };
}

export function isPositive(text: string): boolean {
  return text.trim() !== '' && Number(text) > 0 && Number.isFinite(Number(text));
}

/** What would go if the draft were saved now. */
export function effectsOf(draft: Draft, usage: Usage): readonly Effect[] {
  if (!draft.enabled) return [{ text: WORDS.effectOff, removes: false }];
  const excesses = [
    [WORDS.effectAll, usage.bytes - bytesOf(draft)] as const,
    ...draft.layers.map((entry) => {
      const used = usage.layers.find(({ name }) => name === entry.layer)?.bytes ?? 0;
      return [entry.layer, used - bytesOf(entry)] as const;
    }),
  ].filter(([, excess]) => excess > 0);
  if (excesses.length === 0) return [{ text: WORDS.effectNothing, removes: false }];
  return excesses.map(([where, excess]) => ({
    text: WORDS.effectRemoves(bytesText(excess), where),
    removes: true,
  }));
}

function bytesOf({ value, units }: { readonly value: string; readonly units: Unit }): number {
  return Number(value) * 1024 ** UNITS.indexOf(units);
}
