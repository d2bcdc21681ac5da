import { invalid, shortened, type TilewardenError } from '../domain/errors.ts';
import { hintFor } from '../lib/closest-name.ts';
import type { XmlElement, XmlPlace } from '../lib/xml/xml-element.ts';

/**
 * An element of XML or JSON, so that one reader of documents reads both. A JSON object is an element whose fields are
 * its children; a list is its field repeated; a list within a list has children without a name.
 */
export interface WireElement extends Pick<XmlElement, 'name' | 'text' | 'place'> {
  readonly children: readonly WireElement[];
  /** Absent in JSON, where an attribute is a field whose name begins with `@`. */
  readonly attributes?: ReadonlyMap<string, string>;
  /** A JSON value without content. It must not count as absent: an absent filter selects everything. */
  readonly nothing?: 'null' | 'an empty list' | 'an empty object';
  /** A text of JSON: not an element without fields, even if it is empty. */
  readonly isText?: true;
}

/** A problem of a body, with its position. */
export function bodyProblem(message: string, { line, column }: XmlPlace): TilewardenError {
  return invalid(`${message} (line ${line}, column ${column})`);
}

export function childrenNamed(parent: WireElement, name: string): readonly WireElement[] {
  return parent.children.filter((child) => child.name === name);
}

/** Null if absent. Throws if there are several. */
export function onlyChild(parent: WireElement, name: string): WireElement | null {
  const [first = null, second] = childrenNamed(parent, name);
  if (second) throw bodyProblem(`${name} is given more than once`, second.place);
  return first;
}

/** Throws for text in place of fields, which would be ignored silently. */
export function requireFields({ name, text, isText, nothing, place }: WireElement): void {
  const content = text.trim();
  if (isText || content !== '')
    throw bodyProblem(`${name} must not be the text "${shortened(content)}"`, place);
  if (nothing && nothing !== 'an empty object') {
    throw bodyProblem(`${name} must not be ${nothing}`, place);
  }
}

/** A misspelt field would select everything. Names with `@` are XML attributes, as some converters write them in JSON. */
export function refuseUnknownFields({ name, children }: WireElement, known: readonly string[]): void {
  const unknown = children.find((child) => !known.includes(child.name) && !child.name.startsWith('@'));
  if (!unknown) return;
  const hint = hintFor(unknown.name, known);
  throw bodyProblem(`${shortened(unknown.name)} is not a field of ${name}; ${hint}`, unknown.place);
}

export function elementText({ name, text, children, nothing, place }: WireElement): string {
  if (nothing) throw bodyProblem(`${name} must be a text, not ${nothing}`, place);
  if (children.length === 0) return text.trim();
  throw bodyProblem(`${name} must be a text`, place);
}

/** Undefined when it is absent; an empty text is refused. */
export function textField(parent: WireElement, name: string): string | undefined {
  const child = onlyChild(parent, name);
  if (!child) return undefined;
  const text = elementText(child);
  if (text !== '') return text;
  throw bodyProblem(`${name} must not be empty`, child.place);
}

/** `value`, which must not be missing. */
export function present<Value>(parent: WireElement, name: string, value: Value | undefined): Value {
  if (value !== undefined) return value;
  throw bodyProblem(`${name} is missing`, parent.place);
}

/** The code of an `srs`, under `number`. */
export function srsField(parent: WireElement): number | undefined {
  const srs = onlyChild(parent, 'srs');
  if (!srs) return undefined;
  const number = integerField(srs, 'number');
  if (number !== undefined) return number;
  throw bodyProblem('srs must have a number, e.g. 4326', srs.place);
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

export function numberOf(element: WireElement): number {
  return numberIn(element, 'a number', Number.isFinite);
}

export function integerField(parent: WireElement, name: string): number | undefined {
  const child = onlyChild(parent, name);
  return child ? numberIn(child, 'a whole number', Number.isSafeInteger) : undefined;
}

function numberIn(element: WireElement, kind: string, fits: (value: number) => boolean): number {
  const { name, text, children, nothing, place } = element;
  const content = text.trim();
  const value = DECIMAL.test(content) ? Number(content) : Number.NaN;
  if (children.length === 0 && fits(value)) return value;
  throw bodyProblem(`${name} must be ${kind}, not ${nothing ?? `"${shortened(content)}"`}`, place);
}

export function numberField(parent: WireElement, name: string): number | undefined {
  const child = onlyChild(parent, name);
  return child ? numberOf(child) : undefined;
}

export function booleanField(parent: WireElement, name: string): boolean | undefined {
  const text = choiceField(parent, name, ['true', 'false']);
  return text === undefined ? undefined : text === 'true';
}

export function choiceField<T extends string>(
  parent: WireElement,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const child = onlyChild(parent, name);
  if (!child) return undefined;
  const text = elementText(child);
  const choice = allowed.find((value) => value === text);
  if (choice !== undefined) return choice;
  throw bodyProblem(`${name} must be ${allowed.join(' or ')}, not "${shortened(text)}"`, child.place);
}

/** Null when it is absent. */
export function attributeOf(element: WireElement, name: string): string | null {
  const field = onlyChild(element, `@${name}`);
  return field ? elementText(field) : (element.attributes?.get(name) ?? null);
}

/**
 * The entries of a list: `<values><string>a</string>…`, `{"values":{"string":["a"]}}` or `{"values":["a"]}`.
 * `names` are those that entries may have; undefined when there is no such list.
 */
export function entriesOf(
  parent: WireElement,
  list: string,
  names: readonly string[],
): readonly WireElement[] | undefined {
  const lists = childrenNamed(parent, list);
  if (lists.length === 0) return undefined;
  return lists.flatMap((one) => {
    const named = one.children.filter(({ name }) => names.includes(name));
    if (named.length > 0) return named.filter(({ nothing }) => nothing !== 'an empty list');
    const bare = one.children.length > 0 || one.text.trim() !== '';
    return bare ? [one] : [];
  });
}

/** A field with `coords` with four `double`; in JSON also a list of four numbers, in `coords` or directly in the field. */
export function coordsField(parent: WireElement, name: string): readonly number[] | undefined {
  const bounds = childrenNamed(parent, name);
  const [first] = bounds;
  if (!first) return undefined;
  const coords = bounds.flatMap((one) => childrenNamed(one, 'coords'));
  const doubles = coords.flatMap((one) => childrenNamed(one, 'double'));
  const numbers = [doubles, coords, bounds].find((list) => list.length > 0) ?? [];
  if (numbers.length === 4) return numbers.map(numberOf);
  const content = first.nothing ? `, not ${first.nothing}` : '';
  throw bodyProblem(`${name} must have four numbers: minX, minY, maxX, maxY${content}`, first.place);
}
