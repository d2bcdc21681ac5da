import { decodeXml, readXml } from '../lib/xml/read-xml.ts';
import { XmlError, type XmlPlace } from '../lib/xml/xml-element.ts';
import { bodyProblem, onlyChild, requireFields, type WireElement } from './wire-element.ts';

const MAX_DEPTH = 20;
const MAX_VALUES = 1000;

const BARE_KEY = /[A-Za-z_$@][\w$@.-]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[\s,}\]]|$)/y;
/** Text that lost its quotes to a shell, e.g. `EPSG:4326` or `image/png`. */
const BARE_WORD = /[A-Za-z_][^\s,{}[\]"'\\]*/y;
const SPACE = /[ \t\r\n]*/y;
/** RFC 8259, 7: everything but the quote, the backslash and control characters. */
const PLAIN_TEXT = { '"': /[ !#-[\]-\uffff]*/y, "'": /[ -&(-[\]-\uffff]*/y };
const NOTHING = { text: '', children: [] };
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/**
 * Reads JSON as RFC 8259 has it, and also the forms of widely copied samples: single quotes, bare keys, a comma before
 * a closing bracket, one surplus closing brace; and texts that have lost their quotes to a shell. Numbers stay text.
 * Returns the document's value as an element without a name. Throws `request-invalid` with the place.
 */
export function readJson(text: string): WireElement {
  return new JsonReader(text).read();
}

class JsonReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #elements = 0;
  #line = 1;
  #lineStart = 0;

  constructor(text: string) {
    this.#text = text.startsWith('\ufeff') ? text.slice(1) : text;
  }

  read(): WireElement {
    this.#skipSpace();
    const place = this.#place();
    if (this.#peek() !== '{') this.#refuse('it must be an object {…}');
    const fields = this.#readObject();
    this.#skipSpace();
    if (this.#peek() === '}') this.#at += 1;
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#refuse('there is more after its end');
    return { name: '', text: '', ...fields, place };
  }

  /** Adds the value to `into` under `name`: several elements for a list. */
  #readValue(name: string, into: WireElement[]): void {
    this.#skipSpace();
    const place = this.#place();
    const next = this.#peek();
    if (next === '{') into.push({ name, text: '', ...this.#readObject(), place });
    if (next === '[') this.#readList(name, into, place);
    if (next === '"' || next === "'")
      into.push({ name, text: this.#readText(next), children: [], place, isText: true });
    if (!'{["\''.includes(next) || next === '') this.#readLiteral(name, into, place);
    this.#elements += 1;
    if (this.#elements > MAX_VALUES) this.#refuse(`there are more than ${MAX_VALUES} values`);
  }

  #readObject(): Pick<WireElement, 'children' | 'nothing'> {
    const children: WireElement[] = [];
    this.#readUntil('}', () => {
      const key = this.#readKey();
      this.#skipSpace();
      this.#expect(':');
      this.#readValue(key, children);
    });
    return children.length === 0 ? { children, nothing: 'an empty object' } : { children };
  }

  #readList(name: string, into: WireElement[], place: XmlPlace): void {
    const before = into.length;
    // The list of a field repeats the field. Only a list in a list is an element of its own.
    this.#readUntil(']', () => {
      this.#skipSpace();
      if (this.#peek() !== '[') return this.#readValue(name, into);
      const inner: WireElement[] = [];
      const innerPlace = this.#place();
      this.#readValue('', inner);
      into.push({ name, text: '', children: inner, place: innerPlace });
    });
    if (into.length === before) into.push({ ...NOTHING, name, place, nothing: 'an empty list' });
  }

  #readUntil(close: '}' | ']', readItem: () => void): void {
    this.#at += 1;
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) this.#refuse(`the document is more than ${MAX_DEPTH} levels deep`);
    for (this.#skipSpace(); this.#peek() !== close; this.#skipSpace()) {
      readItem();
      this.#skipSpace();
      if (this.#peek() !== close) this.#expect(',');
    }
    this.#at += 1;
    this.#depth -= 1;
  }

  #readKey(): string {
    const next = this.#peek();
    if (next === '"' || next === "'") return this.#readText(next);
    return this.#take(BARE_KEY) ?? this.#refuse('a field name is expected here');
  }

  #readLiteral(name: string, into: WireElement[], place: XmlPlace): void {
    const text = this.#take(NUMBER) ?? this.#take(BARE_WORD) ?? this.#refuse('a value is expected here');
    if (text === 'null') into.push({ ...NOTHING, name, place, nothing: 'null' });
    if (text !== 'null') into.push({ name, text, children: [], place });
  }

  #readText(quote: '"' | "'"): string {
    this.#at += 1;
    let text = '';
    for (;;) {
      text += this.#take(PLAIN_TEXT[quote]) ?? '';
      const next = this.#peek();
      if (next !== quote && next !== '\\') this.#refuse('a text is not closed');
      this.#at += 1;
      if (next === quote) return text;
      text += this.#readEscape();
    }
  }

  #readEscape(): string {
    const code = this.#peek();
    this.#at += 1;
    if (code !== 'u') return ESCAPES[code] ?? this.#refuse(`\\${code} means nothing in a text`);
    const hex = this.#text.slice(this.#at, this.#at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(hex)) this.#refuse('\\u needs four hexadecimal digits');
    this.#at += 4;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #skipSpace(): void {
    this.#take(SPACE);
  }

  #expect(character: string): void {
    if (this.#peek() !== character) this.#refuse(`"${character}" is expected here`);
    this.#at += 1;
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += token?.length ?? 0;
    return token;
  }

  /** Reading only goes forward, so each line is counted once. */
  #place(): XmlPlace {
    for (let end = this.#lineEnd(); end >= 0 && end < this.#at; end = this.#lineEnd()) {
      this.#lineStart = end + 1;
      this.#line += 1;
    }
    return { line: this.#line, column: this.#at - this.#lineStart + 1 };
  }

  #lineEnd(): number {
    return this.#text.indexOf('\n', this.#lineStart);
  }

  #refuse(message: string): never {
    throw bodyProblem(`The body is not JSON: ${message}`, this.#place());
  }
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
