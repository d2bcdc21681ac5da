/** Reads GeoWebCache's seed requests: XML, JSON, or the form of its seed page. */
import { invalid, shortened } from '../../domain/errors.ts';
import { type DocumentFormat, readDocumentNamed } from '../../geowebcache/read-document.ts';
import {
  bodyProblem,
  childrenNamed,
  coordsField,
  integerField,
  refuseUnknownFields,
  srsField,
  textField,
  type WireElement,
} from '../../geowebcache/wire-element.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { omitUndefined } from '../../lib/omit-undefined.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';

const FIELDS = [
  'name',
  'srs',
  'gridSetId',
  'bounds',
  'zoomStart',
  'zoomStop',
  'format',
  'type',
  'threadCount',
  'parameters',
  'filterUpdate',
  'tileFailureRetryCount',
  'tileFailureRetryWaitTime',
  'totalFailuresBeforeAborting',
];

/** `layer`: from the path. `name` in the body is ignored; only a truncation is refused if it names another layer. */
export function readSeedRequest(body: Buffer, format: DocumentFormat, layer: string): TaskDraft {
  const { root, document } = readDocumentNamed(body, format, 'seedRequest');
  const type = textField(root, 'type');
  if (type?.toLowerCase() === 'truncate') {
    refuseUnknownFields(root, FIELDS);
    refuseOtherLayer(root, layer);
    refuseEmptyParameters(root);
    refuseUnknownFields({ ...document, name: 'the body' }, ['seedRequest']);
  }
  const fields = {
    type,
    gridSetId: textField(root, 'gridSetId'),
    srs: srsField(root),
    coords: coordsField(root, 'bounds'),
    zoomStart: integerField(root, 'zoomStart'),
    zoomStop: integerField(root, 'zoomStop'),
    format: textField(root, 'format'),
    threadCount: integerField(root, 'threadCount'),
    parameters: parametersField(root),
    tileFailureRetryCount: integerField(root, 'tileFailureRetryCount'),
    tileFailureRetryWaitTime: integerField(root, 'tileFailureRetryWaitTime'),
    totalFailuresBeforeAborting: integerField(root, 'totalFailuresBeforeAborting'),
  };
  return { layer, ...omitUndefined(fields) };
}

function refuseOtherLayer(root: WireElement, layer: string): void {
  const name = textField(root, 'name');
  if (name === undefined || name === layer) return;
  const named = `name is "${shortened(name)}", the address names the layer "${layer}"`;
  throw bodyProblem(`${named}: a truncation needs the same name in both, or none in the body`, root.place);
}

const CORNERS = ['minX', 'minY', 'maxX', 'maxY'];
const PARAMETER = 'parameter_';

/** The form on GeoWebCache's seed page. Empty fields are ignored; unknown and repeated ones reach the checks of a body. */
export function readSeedForm(form: URLSearchParams, layer: string): TaskDraft {
  const fields = new Map<string, unknown[]>();
  const add = (name: string, value: unknown) => getOrCreate(fields, name, () => []).push(value);
  for (const [name, value] of form) {
    if (value.trim() === '') continue;
    if (name.startsWith(PARAMETER)) add('parameters', [name.slice(PARAMETER.length), value]);
    else add(name === 'tileFormat' ? 'format' : name, value);
  }
  const coords = CORNERS.flatMap((name) => fields.get(name) ?? []);
  const missing = CORNERS.find((name) => coords.length > 0 && !fields.has(name));
  if (missing) throw invalid(`Missing value for ${missing}`);
  for (const coord of coords) add('bounds', coord);
  for (const name of CORNERS) fields.delete(name);
  const body = Buffer.from(JSON.stringify({ seedRequest: Object.fromEntries(fields) }));
  return readSeedRequest(body, 'json', layer);
}

type Pair = readonly [name: string, value: string];

/**
 * Parameter values by name, from any of the forms that clients use:
 * `<entry><string>N</string><string>V</string></entry>`, `{"entry":[{"string":["N","V"]}]}`, a single `entry`,
 * `[["N","V"]]` and `{"N":"V"}`. Undefined when the field is absent; in XML it may be empty.
 */
export function parametersField(parent: WireElement): ReadonlyMap<string, string> | undefined {
  const elements = childrenNamed(parent, 'parameters');
  if (elements.length === 0) return undefined;
  const pairs = elements.flatMap(parameterPairs);
  if (new Set(pairs.map(([name]) => name.toUpperCase())).size === pairs.length) return new Map(pairs);
  throw bodyProblem('a name in parameters is given more than once', parent.place);
}

/** For truncations: an empty element would select the default combination, probably by mistake. */
export function refuseEmptyParameters(parent: WireElement): void {
  const [first] = childrenNamed(parent, 'parameters');
  if (!first || first.nothing || first.children.length > 0) return;
  throw bodyProblem('parameters must have entries; leave it out for the default combination', first.place);
}

function parameterPairs(parameters: WireElement): readonly Pair[] {
  const { children, text, isText, nothing, place } = parameters;
  if (children.length === 0 && (isText || text.trim() !== '' || nothing)) {
    throw bodyProblem(`parameters must have entries, not ${nothing ?? 'a text'}`, place);
  }
  if (parameters.children.some((child) => child.name === '')) return [parameterPair(parameters)];
  // Some converters write attributes of XML into JSON, e.g. "@class".
  const entries = parameters.children.filter((child) => !child.name.startsWith('@'));
  return entries.map((child) =>
    child.name === 'entry' && child.children.length > 0 ? parameterPair(child) : plainPair(child),
  );
}

/** A name and its value, whose spaces belong to it. */
function parameterPair(entry: WireElement): Pair {
  const [name, value, surplus] = entry.children;
  const isText = (one: WireElement) => one.children.length === 0 && !one.nothing;
  const whole = name && value && !surplus && isText(name) && isText(value);
  if (whole) return [name.text.trim(), value.text];
  throw bodyProblem('an entry of parameters must have two texts, a name and a value', entry.place);
}

function plainPair(field: WireElement): Pair {
  if (field.children.length === 0 && !field.nothing) return [field.name, field.text];
  throw bodyProblem(
    `the parameter ${field.name} must be a text, not ${field.nothing ?? 'an object'}`,
    field.place,
  );
}
