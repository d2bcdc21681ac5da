import { invalid, isTilewardenError, shortened, type TilewardenError } from '../../domain/errors.ts';
import { type DocumentFormat, readDocument } from '../../geowebcache/read-document.ts';
import {
  bodyProblem,
  coordsField,
  refuseUnknownFields,
  requireFields,
  textField,
  type WireElement,
} from '../../geowebcache/wire-element.ts';
import { element, writeXml } from '../../lib/xml/write-xml.ts';
import { parametersField, refuseEmptyParameters } from './read-parameters.ts';

/** In the order in which they are listed; section 2.3 of the specification has the first. */
export const MASS_TRUNCATE_TYPES = [
  'truncateLayer',
  'truncateParameters',
  'truncateOrphans',
  'truncateExtent',
  'truncateAll',
] as const;

type MassTruncateType = (typeof MASS_TRUNCATE_TYPES)[number];

const FIELDS: Readonly<Record<MassTruncateType, readonly string[]>> = {
  truncateLayer: ['layerName'],
  truncateParameters: ['layerName', 'parameters'],
  truncateOrphans: ['layerName'],
  truncateExtent: ['layerName', 'gridSetId', 'bounds'],
  truncateAll: [],
};

export type MassTruncateRequest =
  | { readonly type: 'truncateAll' }
  | { readonly type: 'truncateLayer' | 'truncateOrphans'; readonly layer: string }
  | {
      readonly type: 'truncateParameters';
      readonly layer: string;
      readonly parameters: ReadonlyMap<string, string>;
    }
  | {
      readonly type: 'truncateExtent';
      readonly layer: string;
      readonly gridSetId: string;
      readonly coords: readonly number[];
    };

export function readMassTruncateRequest(body: Buffer, format: DocumentFormat): MassTruncateRequest {
  const root = readRoot(body, format);
  const type = MASS_TRUNCATE_TYPES.find((known) => known === root.name);
  if (!type) throw refused(`There is no request ${shortened(root.name)}`);
  requireFields(root);
  refuseUnknownFields(root, FIELDS[type]);
  refuseEmptyParameters(root);
  if (type === 'truncateAll') return { type };
  const layer = required(root, 'layerName');
  if (type === 'truncateParameters') return { type, layer, parameters: parametersField(root) ?? new Map() };
  if (type !== 'truncateExtent') return { type, layer };
  const coords = present(root, 'bounds', coordsField(root, 'bounds'));
  return { type, layer, gridSetId: required(root, 'gridSetId'), coords };
}

export function writeMassTruncateTypes(href: string): string {
  const types = MASS_TRUNCATE_TYPES.map((type) => element('requestType', type));
  return writeXml(element('massTruncateRequests', types, { href }));
}

function required(root: WireElement, name: string): string {
  return present(root, name, textField(root, name));
}

function present<Value>(root: WireElement, name: string, value: Value | undefined): Value {
  if (value !== undefined) return value;
  throw bodyProblem(`${name} is missing`, root.place);
}

function readRoot(body: Buffer, format: DocumentFormat): WireElement {
  try {
    return readDocument(body, format);
  } catch (error) {
    if (isTilewardenError(error, 'request-invalid')) throw refused(error.message);
    throw error;
  }
}

function refused(reason: string): TilewardenError {
  return invalid(`${reason}; there are ${MASS_TRUNCATE_TYPES.join(', ')}.`);
}
