import { TilewardenError } from '../../domain/errors.ts';
import { shortened } from '../../domain/shortened.ts';
import { element, writeXml, type XmlNode } from '../../lib/xml/write-xml.ts';
import {
  CLEAN_UP_UNITS,
  EXPIRATION_POLICIES,
  type LayerQuota,
  type Quota,
  type QuotaConfiguration,
  STORAGE_UNITS,
  type StorageUnit,
} from '../../quota/quota-configuration.ts';
import type { QuotaChange } from '../../quota/quota-settings.ts';
import { type DocumentFormat, readDocument } from './read-document.ts';
import { withoutAbsent } from './seed-request.ts';
import { UnknownUnit } from './unknown-unit.ts';
import {
  bodyProblem,
  childrenNamed,
  numberOf,
  onlyChild,
  textField,
  textOf,
  type WireElement,
} from './wire-element.ts';

const ROOT = 'tileQuotaConfiguration';
/** What GeoWebCache's clients send. */
const ROOTS: readonly string[] = [ROOT, 'gwcQuotaConfiguration'];
/** Half of what a double counts exactly: sums of sizes stay exact. */
const MAX_BYTES = Number.MAX_SAFE_INTEGER / 2;

/** Section 2.5 of the specification; the body holds only what is to change. */
export function readQuotaDocument(body: Buffer, format: DocumentFormat): QuotaChange {
  const root = readDocument(body, format);
  if (!ROOTS.includes(root.name)) throw bodyProblem(`The root must be ${ROOT}`, root.place);
  return quotaFields(root, body, format);
}

export function quotaFields(root: WireElement, body: Buffer, format: DocumentFormat): QuotaChange {
  return withoutAbsent({
    enabled: booleanField(root, 'enabled'),
    diskBlockSize: positiveField(root, 'diskBlockSize'),
    cacheCleanUpFrequency: positiveField(root, 'cacheCleanUpFrequency'),
    cacheCleanUpUnits: choiceField(root, 'cacheCleanUpUnits', keysOf(CLEAN_UP_UNITS)),
    maxConcurrentCleanUps: positiveField(root, 'maxConcurrentCleanUps'),
    globalExpirationPolicyName: choiceField(root, 'globalExpirationPolicyName', EXPIRATION_POLICIES),
    globalQuota: quotaField(root, 'globalQuota', format),
    layerQuotas: layerQuotasField(root, format) ?? (clearsLayerQuotas(body, format) ? [] : undefined),
  });
}

export function writeQuotaDocument(configuration: QuotaConfiguration, format: DocumentFormat): string {
  return format === 'xml' ? writeXml(xmlOf(configuration)) : JSON.stringify(jsonOf(configuration));
}

function booleanField(root: WireElement, name: string): boolean | undefined {
  const text = choiceField(root, name, ['true', 'false']);
  return text === undefined ? undefined : text === 'true';
}

/** GeoWebCache's clients match this text. */
function positiveField(root: WireElement, name: string): number | undefined {
  const child = onlyChild(root, name);
  if (!child) return undefined;
  const text = textOf(child);
  const value = /^[+-]?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0) return value;
  throw new TilewardenError('request-invalid', `${name} shall be a positive integer: ${shortened(text)}`);
}

function choiceField<T extends string>(
  root: WireElement,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const child = onlyChild(root, name);
  if (!child) return undefined;
  const text = textOf(child);
  const found = allowed.find((value) => value === text);
  if (found !== undefined) return found;
  throw bodyProblem(`${name} must be ${allowed.join(' or ')}, not "${shortened(text)}"`, child.place);
}

function quotaField(parent: WireElement, name: string, format: DocumentFormat): Quota | undefined {
  const child = onlyChild(parent, name);
  if (!child) return undefined;
  const units = unitsOf(child, name, format);
  const valueElement = onlyChild(child, 'value');
  if (!valueElement) throw bodyProblem(`${name} must have a value`, child.place);
  const value = numberOf(valueElement);
  if (value >= 0 && value * STORAGE_UNITS[units] <= MAX_BYTES) return { value, units };
  throw bodyProblem(`${name} must be at least 0 and less than 4096 TiB`, valueElement.place);
}

function unitsOf(quota: WireElement, name: string, format: DocumentFormat): StorageUnit {
  const child = onlyChild(quota, 'units');
  if (!child) throw bodyProblem(`${name} must have units`, quota.place);
  const text = textOf(child);
  const units = keysOf(STORAGE_UNITS).find((unit) => unit === text);
  if (units) return units;
  throw new UnknownUnit(shortened(text), `${name}.units`, format === 'xml' ? child.place.line : -1);
}

/** A list without entries leaves no element behind, so it is looked for in the text. */
function clearsLayerQuotas(body: Buffer, format: DocumentFormat): boolean {
  return format === 'json' && /layerQuotas["']?\s*:\s*\[\s*\]/.test(body.toString('utf8'));
}

/** `<layerQuotas><LayerQuota>…`, `[…]` or `{"LayerQuota": […]}`. */
function layerQuotasField(root: WireElement, format: DocumentFormat): readonly LayerQuota[] | undefined {
  const lists = childrenNamed(root, 'layerQuotas');
  if (lists.length === 0) return undefined;
  const entries = lists.flatMap((list) => {
    const wrapped = childrenNamed(list, 'LayerQuota');
    return wrapped.length > 0 || list.children.length === 0 ? wrapped : [list];
  });
  return entries.map((entry) => layerQuotaOf(entry, format));
}

function layerQuotaOf(entry: WireElement, format: DocumentFormat): LayerQuota {
  const layer = textField(entry, 'layer');
  if (layer === undefined || layer === '')
    throw bodyProblem('A layer quota must name its layer', entry.place);
  const expirationPolicyName = choiceField(entry, 'expirationPolicyName', EXPIRATION_POLICIES);
  if (!expirationPolicyName)
    throw bodyProblem('A layer quota must have an expirationPolicyName', entry.place);
  const quota = quotaField(entry, 'quota', format);
  if (!quota) throw bodyProblem('A layer quota must have a quota', entry.place);
  return { layer, expirationPolicyName, quota };
}

function xmlOf(configuration: QuotaConfiguration): XmlNode {
  const { globalQuota, layerQuotas, ...plain } = configuration;
  const text = (name: keyof typeof plain) => element(name, String(plain[name]));
  return element(ROOT, [
    text('enabled'),
    text('diskBlockSize'),
    text('cacheCleanUpFrequency'),
    text('cacheCleanUpUnits'),
    text('maxConcurrentCleanUps'),
    text('globalExpirationPolicyName'),
    element('globalQuota', quotaXml(globalQuota)),
    element('layerQuotas', layerQuotas.map(layerQuotaXml)),
  ]);
}

function layerQuotaXml({ layer, expirationPolicyName, quota }: LayerQuota): XmlNode {
  return element('LayerQuota', [
    element('layer', layer),
    element('expirationPolicyName', expirationPolicyName),
    element('quota', quotaXml(quota)),
  ]);
}

function quotaXml({ value, units }: Quota): readonly XmlNode[] {
  return [element('value', String(value)), element('units', units)];
}

function jsonOf(configuration: QuotaConfiguration) {
  const quotaJson = ({ value, units }: Quota) => ({ value: String(value), units });
  return {
    [ROOT]: {
      enabled: configuration.enabled,
      diskBlockSize: configuration.diskBlockSize,
      cacheCleanUpFrequency: configuration.cacheCleanUpFrequency,
      cacheCleanUpUnits: configuration.cacheCleanUpUnits,
      maxConcurrentCleanUps: configuration.maxConcurrentCleanUps,
      globalExpirationPolicyName: configuration.globalExpirationPolicyName,
      globalQuota: quotaJson(configuration.globalQuota),
      layerQuotas: configuration.layerQuotas.map(({ layer, expirationPolicyName, quota }) => ({
        layer,
        expirationPolicyName,
        quota: quotaJson(quota),
      })),
    },
  };
}

function keysOf<T extends object>(record: T): readonly (keyof T & string)[] {
  return Object.keys(record) as (keyof T & string)[];
}
