/** The quota in GeoWebCache's documents, at `/diskquota`. */
import { invalid, shortened } from '../../domain/errors.ts';
import { type DocumentNode, leaf, listOf, nodeOf, writeDocument } from '../../geowebcache/document-node.ts';
import { type DocumentFormat, readDocument } from '../../geowebcache/read-document.ts';
import {
  bodyProblem,
  booleanField,
  childrenNamed,
  choiceField,
  elementText,
  numberOf,
  onlyChild,
  refuseUnknownFields,
  requireFields,
  textField,
  type WireElement,
} from '../../geowebcache/wire-element.ts';
import { omitUndefined } from '../../lib/omit-undefined.ts';
import { keysOf } from '../../lib/value-path.ts';
import {
  CLEAN_UP_UNITS,
  EXPIRATION_POLICIES,
  type LayerQuota,
  type Quota,
  type QuotaChange,
  type QuotaConfiguration,
  STORAGE_UNITS,
  type StorageUnit,
} from '../../quota/quota-configuration.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { applyQuota } from '../api/quota.ts';
import { BODY_TYPES, requireMediaType } from '../auth/request-checks.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import { contentResponse, type Response, textResponse } from '../response.ts';

export function quotaAs(format: DocumentFormat) {
  return async (_: Call, { quota }: ApiDeps) => configurationResponse(await quota.settings.read(), format);
}

export function changeQuotaBy(format: DocumentFormat) {
  return async (call: Call, deps: ApiDeps) => {
    const { headers, body } = call.context;
    requireMediaType(headers, BODY_TYPES[format]);
    try {
      return configurationResponse(await applyQuota(call, deps, readQuotaDocument(body, format)), format);
    } catch (error) {
      if (!(error instanceof UnknownUnit)) throw error;
      return textResponse(statusOf('request-invalid'), error.message, ['Cache-Control', 'no-store']);
    }
  };
}

function configurationResponse(configuration: QuotaConfiguration, format: DocumentFormat): Response {
  return contentResponse(`application/${format}`, writeQuotaDocument(configuration, format));
}

export function refuseFormat(): never {
  throw new HttpProblem('path-unknown', 'The disk quota comes as xml or json.');
}

const ROOT = 'tileQuotaConfiguration';
/** Accepted names of the root; GeoWebCache's clients send both. */
const ROOTS: readonly string[] = [ROOT, 'gwcQuotaConfiguration'];

/** Absent fields are not changed. */
function readQuotaDocument(body: Buffer, format: DocumentFormat): QuotaChange {
  const root = readDocument(body, format);
  if (!ROOTS.includes(root.name)) throw bodyProblem(`The root must be ${ROOT}`, root.place);
  requireFields(root);
  return omitUndefined({
    enabled: booleanField(root, 'enabled'),
    diskBlockSize: positiveField(root, 'diskBlockSize'),
    cacheCleanUpFrequency: positiveField(root, 'cacheCleanUpFrequency'),
    cacheCleanUpUnits: choiceField(root, 'cacheCleanUpUnits', keysOf(CLEAN_UP_UNITS)),
    maxConcurrentCleanUps: positiveField(root, 'maxConcurrentCleanUps'),
    globalExpirationPolicyName: choiceField(root, 'globalExpirationPolicyName', EXPIRATION_POLICIES),
    globalQuota: partialQuotaField(root, 'globalQuota', format),
    layerQuotas: layerQuotasField(root, format),
  });
}

/** In the order of GeoWebCache's document. */
const PLAIN_FIELDS = [
  'enabled',
  'diskBlockSize',
  'cacheCleanUpFrequency',
  'cacheCleanUpUnits',
  'maxConcurrentCleanUps',
  'globalExpirationPolicyName',
] as const;

function writeQuotaDocument(configuration: QuotaConfiguration, format: DocumentFormat): string {
  const { globalQuota, layerQuotas } = configuration;
  const entries = layerQuotas.map(({ layer, expirationPolicyName, quota }) =>
    nodeOf('LayerQuota', [
      leaf('layer', layer),
      leaf('expirationPolicyName', expirationPolicyName),
      sizeNode('quota', quota),
    ]),
  );
  const root = nodeOf(ROOT, [
    ...PLAIN_FIELDS.map((name) => leaf(name, configuration[name])),
    sizeNode('globalQuota', globalQuota),
    listOf('layerQuotas', entries),
  ]);
  return writeDocument(root, format, '');
}

function sizeNode(name: string, { value, units }: Quota): DocumentNode {
  return nodeOf(name, [leaf('value', String(value)), leaf('units', units)]);
}

/** GeoWebCache's clients search for the text of the error. */
function positiveField(root: WireElement, name: string): number | undefined {
  const child = onlyChild(root, name);
  if (!child) return undefined;
  const text = child.nothing ?? elementText(child);
  const value = /^[+-]?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0) return value;
  throw invalid(`${name} shall be a positive integer: ${shortened(text)}`);
}

/** Value and units are optional: an absent one is not changed. */
function partialQuotaField(
  parent: WireElement,
  name: string,
  format: DocumentFormat,
): Partial<Quota> | undefined {
  const child = onlyChild(parent, name);
  if (!child) return undefined;
  requireFields(child);
  refuseUnknownFields(child, ['value', 'units']);
  if (child.children.length > 0) {
    return omitUndefined({ value: sizeField(child, name), units: unitsField(child, name, format) });
  }
  throw bodyProblem(`${name} must have a value or units`, child.place);
}

function quotaField(parent: WireElement, format: DocumentFormat): Quota {
  const { value, units } = partialQuotaField(parent, 'quota', format) ?? {};
  if (value !== undefined && units !== undefined) return { value, units };
  throw bodyProblem('A layer quota must have a quota with a value and units', parent.place);
}

function sizeField(quota: WireElement, name: string): number | undefined {
  const child = onlyChild(quota, 'value');
  if (!child) return undefined;
  const value = numberOf(child);
  if (value >= 0) return value;
  throw bodyProblem(`${name}.value must be at least 0, not ${shortened(elementText(child))}`, child.place);
}

function unitsField(quota: WireElement, name: string, format: DocumentFormat): StorageUnit | undefined {
  const child = onlyChild(quota, 'units');
  if (!child) return undefined;
  const text = elementText(child);
  const units = keysOf(STORAGE_UNITS).find((unit) => unit === text);
  if (units) return units;
  throw new UnknownUnit(shortened(text), `${name}.units`, format === 'xml' ? child.place.line : -1);
}

/** From `<layerQuotas><LayerQuota>…`, `[…]` or `{"LayerQuota": […]}`; an empty list removes all quotas. */
function layerQuotasField(root: WireElement, format: DocumentFormat): readonly LayerQuota[] | undefined {
  const lists = childrenNamed(root, 'layerQuotas');
  const [first, second] = lists;
  if (!first) return undefined;
  if (!second && first.nothing === 'an empty list') return [];
  return lists
    .flatMap((list) => layerEntriesOf(list, format))
    .map((entry) => {
      requireFields(entry);
      return layerQuotaOf(entry, format);
    });
}

function layerEntriesOf(list: WireElement, format: DocumentFormat): readonly WireElement[] {
  requireFields(list);
  const wrapped = childrenNamed(list, 'LayerQuota');
  if (wrapped.length === 1 && wrapped[0]?.nothing === 'an empty list') return [];
  if (wrapped.length > 0) return wrapped;
  return format === 'xml' && list.children.length === 0 ? [] : [list];
}

function layerQuotaOf(entry: WireElement, format: DocumentFormat): LayerQuota {
  const layer = textField(entry, 'layer');
  if (layer === undefined) throw bodyProblem('A layer quota must name its layer', entry.place);
  const expirationPolicyName = choiceField(entry, 'expirationPolicyName', EXPIRATION_POLICIES);
  if (!expirationPolicyName)
    throw bodyProblem('A layer quota must have an expirationPolicyName', entry.place);
  return { layer, expirationPolicyName, quota: quotaField(entry, format) };
}

/** Its message has several lines, as GeoWebCache's has. */
class UnknownUnit extends Error {
  /** `line` is -1 for formats without lines. */
  constructor(text: string, field: string, line: number) {
    const unit = text.replace(/\p{Control}/gu, '\ufffd');
    const problem = `Unknown unit ${unit}: ${field} must be one of ${Object.keys(STORAGE_UNITS).join(', ')}`;
    super(`${problem}
---- Debugging information ----
message             : ${problem}
cause-exception     : IllegalArgumentException
cause-message       : No storage unit is called ${unit}
class               : tileQuotaConfiguration
required-type       : StorageUnit
line number         : ${line}
`);
  }
}
