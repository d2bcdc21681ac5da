import { setImmediate as nextTurn } from 'node:timers/promises';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { type XmlElement, XmlError, type XmlPlace } from './xml-element.ts';

interface XmlLimits {
  readonly bytes: number;
  readonly depth: number;
  readonly elements: number;
  /** Limit for one element. */
  readonly attributes: number;
  /** A document type is ignored instead of refused; its entities are unknown then. */
  readonly doctype?: 'ignored';
}

const START = { line: 1, column: 1 };
const XML_LIMITS: XmlLimits = { bytes: 64 * 1024, depth: 20, elements: 1000, attributes: 32 };

interface OpenElement extends Pick<XmlElement, 'name' | 'attributes' | 'place'> {
  readonly children: XmlElement[];
  text: string;
}

/**
 * Reads a document into a tree. Every document type is an error: no entity is ever defined, so none can be expanded or
 * fetched. Throws `XmlError`.
 */
export function readXml(text: string, limits: XmlLimits = XML_LIMITS): XmlElement {
  checkLength(Buffer.byteLength(text), limits);
  const reader = new TreeReader(limits);
  reader.read(text);
  return reader.end();
}

/** Bytes that are decoded and read in one turn of the event loop, in a few milliseconds. */
const PIECE = 32 * 1024;

/** Returns the element to put into the tree; null: none. */
export type KeepElement = (element: XmlElement, parent: XmlElement) => XmlElement | null;

const keepAll: KeepElement = (element) => element;

/**
 * As `decodeXml` and `readXml`, for documents of megabytes: yields to the event loop. `afterPiece`: works on elements that
 * `keep` has taken out.
 */
export async function readLongXml(
  bytes: Buffer,
  limits: XmlLimits,
  keep: KeepElement = keepAll,
  afterPiece: () => Promise<void> = nextTurn,
): Promise<XmlElement> {
  checkLength(bytes.length, limits);
  const reader = new TreeReader(limits, keep);
  const decode = decoderOf(bytes);
  for (let at = 0; at < bytes.length; at += PIECE) {
    reader.read(decode(bytes.subarray(at, at + PIECE), at + PIECE < bytes.length));
    await afterPiece();
  }
  return reader.end();
}

function checkLength(length: number, { bytes }: XmlLimits): void {
  if (length <= bytes) return;
  throw new XmlError(`the document is larger than ${bytes} bytes`, START);
}

class TreeReader {
  readonly #parser = new SaxesParser<{ xmlns: false }>({ xmlns: false });
  readonly #open: OpenElement[] = [];
  readonly #limits: XmlLimits;
  readonly #keep: KeepElement;
  #elements = 0;
  #attributes = 0;
  #root: XmlElement | null = null;

  constructor(limits: XmlLimits, keep: KeepElement = keepAll) {
    this.#limits = limits;
    this.#keep = keep;
    this.#parser.on('error', (error) => this.#refuse(error.message.replace(/^\d+:\d+: /, '')));
    this.#parser.on('doctype', () => {
      if (!limits.doctype) this.#refuse('a document type (DOCTYPE) is not allowed');
    });
    this.#parser.on('opentagstart', () => this.#announce());
    this.#parser.on('attribute', () => this.#countAttribute());
    this.#parser.on('opentag', (tag) => this.#begin(tag));
    this.#parser.on('closetag', () => this.#end());
    this.#parser.on('text', (text) => this.#addText(text));
    this.#parser.on('cdata', (text) => this.#addText(text));
  }

  read(text: string): void {
    this.#parser.write(text);
  }

  end(): XmlElement {
    this.#parser.close();
    return this.#root ?? this.#refuse('the document has no element');
  }

  /** Refuses excess as soon as it is seen, before the end of the tag. */
  #announce(): void {
    this.#attributes = 0;
    this.#elements += 1;
    if (this.#elements > this.#limits.elements) this.#refuse(`more than ${this.#limits.elements} elements`);
    if (this.#open.length >= this.#limits.depth)
      this.#refuse(`more than ${this.#limits.depth} elements deep`);
  }

  #countAttribute(): void {
    this.#attributes += 1;
    if (this.#attributes > this.#limits.attributes)
      this.#refuse(`more than ${this.#limits.attributes} attributes`);
  }

  #begin(tag: SaxesTagPlain): void {
    const attributes = new Map(Object.entries(tag.attributes));
    const name = tag.name.slice(tag.name.indexOf(':') + 1);
    this.#open.push({ name, attributes, children: [], place: this.#place(), text: '' });
  }

  #end(): void {
    const element = this.#open.pop();
    if (!element) return;
    const parent = this.#open.at(-1);
    const kept = parent && this.#keep(element, parent);
    if (kept) parent.children.push(kept);
    if (!parent) this.#root = element;
  }

  #addText(text: string): void {
    const element = this.#open.at(-1);
    if (element) element.text += text;
  }

  #place(): XmlPlace {
    return { line: this.#parser.line, column: this.#parser.column + 1 };
  }

  #refuse(message: string): never {
    throw new XmlError(message, this.#place());
  }
}

/** The encodings that clients use. UTF-7 and the like serve to bypass filters. */
const ENCODINGS: ReadonlySet<string> = new Set(['utf-8', 'us-ascii', 'iso-8859-1', 'windows-1252', 'utf-16']);
const DECLARED = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.-]{1,40})["']/;

/** XML 1.0, 4.3.3: a byte-order mark, then the declaration, then UTF-8. Throws `XmlError`. */
export function decodeXml(bytes: Buffer): string {
  return decoderOf(bytes)(bytes, false);
}

/** Decodes a document piece by piece; `more`: the piece is not the last one, and may end within a character. */
function decoderOf(bytes: Buffer): (piece: Buffer, more: boolean) => string {
  const encoding = markedEncoding(bytes) ?? declaredEncoding(bytes) ?? 'utf-8';
  if (!ENCODINGS.has(encoding) && !encoding.startsWith('utf-16')) {
    throw new XmlError(`the encoding ${encoding} is not known here; use UTF-8`, START);
  }
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (piece, more) => {
    try {
      return decoder.decode(piece, { stream: more });
    } catch {
      throw new XmlError(`the document is not valid ${encoding}`, START);
    }
  };
}

function markedEncoding(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return null;
}

function declaredEncoding(bytes: Buffer): string | null {
  const declared = DECLARED.exec(bytes.subarray(0, 200).toString('latin1'))?.[1]?.toLowerCase() ?? null;
  // A document that can be read byte by byte up to here is not UTF-16, even if it declares so.
  return declared?.startsWith('utf-16') ? 'utf-8' : declared;
}
