import JSON5 from 'json5';
import { shortened } from '../domain/errors.ts';
import { decodeXml, readXml } from '../lib/xml/read-xml.ts';
import { XmlError, type XmlPlace } from '../lib/xml/xml-element.ts';
import { bodyProblem, onlyChild, requireFields, type WireElement } from './wire-element.ts';

const MAX_DEPTH = 20;
const MAX_TOKENS = 4000;

/** A line end, a punctuation mark, a quoted text, or a run of other characters. */
const TOKEN = /\n|[{}[\],:]|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[^\s{}[\],:"'][^\s{}[\],"']*/g;
/** The key of a run such as `gridSetId:EPSG:4326`; a value may have colons. */
const BARE_KEY = /^[^:"']+/;

type Json = string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [key: string]: Json;
}

/** `text` is empty at the end of the document. */
type Token = Pick<WireElement, 'text' | 'place'>;

/**
 * Reads JSON, and also the forms of widely copied samples: single quotes, bare keys, a comma before a closing bracket,
 * one surplus closing brace; and texts that have lost their quotes to a shell. Numbers stay text. Returns the document's
 * value as an element without a name. Throws `request-invalid` with the place.
 *
 * JSON5 has no bare words and no positions, and keeps the last of a repeated field. Therefore it reads each token on a
 * line of its own, keys and values as texts that begin with the number of their token: `"1 zoomStart"`.
 */
export function readJson(text: string): WireElement {
  const tokens = tokensOf(text);
  const tokenAt = (index: number): Token => tokens[index] ?? { text: '', place: { line: 1, column: 1 } };
  const refuse = (token: Token, message: string): never => {
    throw bodyProblem(`The body is not JSON: ${message}`, token.place);
  };

  function parse(): JsonObject {
    if (tokenAt(0).text !== '{') refuse(tokenAt(0), 'it must be an object {…}');
    try {
      return JSON5.parse(tokens.map(({ text }, i) => numbered(text, i)).join('\n'));
    } catch (error) {
      const token = tokenAt((error as { readonly lineNumber: number }).lineNumber - 1);
      return refuse(
        token,
        token.text ? `${shortened(token.text)} is not expected here` : 'its end is missing',
      );
    }
  }

  function elementsOf(name: string, value: Json, place: XmlPlace): WireElement[] {
    if (typeof value === 'string') return [{ name, ...scalarOf(value) }];
    if (!isList(value)) return [{ name, ...objectOf(value, place) }];
    if (value.length === 0) return [{ name, text: '', children: [], place, nothing: 'an empty list' }];
    // The list of a field repeats the field. Only a list in a list is an element of its own.
    return value.flatMap((item) =>
      isList(item)
        ? [{ name, text: '', children: elementsOf('', item, place), place }]
        : elementsOf(name, item, place),
    );
  }

  function objectOf(fields: JsonObject, place: XmlPlace): Omit<WireElement, 'name'> {
    const children = Object.entries(fields).flatMap(([key, value]) =>
      elementsOf(withoutNumber(key), value, tokenAt(Number.parseInt(key, 10) + 2).place),
    );
    return { text: '', children, place, ...(children.length === 0 && { nothing: 'an empty object' }) };
  }

  function scalarOf(value: string): Omit<WireElement, 'name'> {
    const { text: written, place } = tokenAt(Number.parseInt(value, 10));
    if (written === 'null') return { text: '', children: [], place, nothing: 'null' };
    return { text: withoutNumber(value), children: [], place, ...(isQuoted(written) && { isText: true }) };
  }

  return { name: '', ...objectOf(parse(), tokenAt(0).place) };
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const open: string[] = [];
  let line = 1;
  let lineStart = 0;
  let surplus = false;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const isKey = open.at(-1) === '{' && tokens.at(-1)?.text !== ':';
    const token = (isKey && BARE_KEY.exec(match[0])?.[0]) || match[0];
    TOKEN.lastIndex = match.index + token.length;
    if (token === '\n') {
      line += 1;
      lineStart = TOKEN.lastIndex;
    } else if (token === '}' && open.length === 0 && tokens.length > 0 && !surplus) {
      surplus = true;
    } else {
      const place = { line, column: match.index - lineStart + 1 };
      if ('{['.includes(token)) open.push(token);
      if ('}]'.includes(token)) open.pop();
      if (open.length > MAX_DEPTH) throw bodyProblem(`The body is more than ${MAX_DEPTH} levels deep`, place);
      if (tokens.length >= MAX_TOKENS)
        throw bodyProblem(`The body has more than ${MAX_TOKENS} tokens`, place);
      tokens.push({ text: token, place });
    }
  }
  return [...tokens, { text: '', place: { line, column: text.length - lineStart + 1 } }];
}

/** JSON5 warns of U+2028 and U+2029 on the console. */
function numbered(token: string, index: number): string {
  const text = token.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  if (isQuoted(text)) return `${text.charAt(0)}${index} ${text.slice(1)}`;
  return '{}[],:'.includes(text) ? text : JSON.stringify(`${index} ${text}`);
}

function withoutNumber(text: string): string {
  return text.slice(text.indexOf(' ') + 1);
}

function isQuoted(token: string): boolean {
  return token.startsWith('"') || token.startsWith("'");
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

export type DocumentFormat = 'xml' | 'json';

/** The document's root, with any name. XML has one; in JSON it is the only field. */
export function readDocument(bytes: Buffer, format: DocumentFormat): WireElement {
  const document = readFields(bytes, format);
  const [root, another] = document.children;
  if (another) refuse('The body must have one field', another);
  return root ?? refuse('The body is an empty object', document);
}

/** The root, if it has this name, and the whole document, which may have more fields in JSON. */
export function readDocumentNamed(bytes: Buffer, format: DocumentFormat, name: string) {
  const document = readFields(bytes, format);
  const form = format === 'json' ? `{"${name}": {…}}` : `<${name}>…</${name}>`;
  const root = onlyChild(document, name) ?? refuse(`The body must be ${form}`, document);
  requireFields(root);
  return { root, document };
}

/** An element without a name, whose only child is the root in XML. */
function readFields(bytes: Buffer, format: DocumentFormat): WireElement {
  if (format === 'json') return readJson(decodeUtf8(bytes));
  try {
    const root = readXml(decodeXml(bytes));
    return { name: '', text: '', children: [root], place: root.place };
  } catch (error) {
    if (error instanceof XmlError) throw bodyProblem(`The body is not XML: ${error.message}`, error.place);
    throw error;
  }
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw bodyProblem('The body is not valid UTF-8', { line: 1, column: 1 });
  }
}

function refuse(message: string, { place }: WireElement): never {
  throw bodyProblem(message, place);
}
