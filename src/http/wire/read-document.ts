import { decodeXml } from '../../lib/xml/decode-xml.ts';
import { readXml } from '../../lib/xml/read-xml.ts';
import { type XmlElement, XmlError } from '../../lib/xml/xml-element.ts';
import { type JsonLimits, readJson } from './read-json.ts';
import { bodyProblem, onlyChild, type WireElement } from './wire-element.ts';

export type DocumentFormat = 'xml' | 'json';

/** The document's root, whatever its name. XML has one; in JSON it is the only field. */
export function readDocument(bytes: Buffer, format: DocumentFormat): WireElement {
  if (format === 'xml') return readXmlRoot(bytes);
  const document = readJsonObject(bytes);
  const [root, another] = document.children;
  if (another) refuse('The body must have one field', another);
  return root ?? refuse('The body is an empty object', document);
}

/** The root, if it has this name. */
export function readDocumentNamed(bytes: Buffer, format: DocumentFormat, name: string): WireElement {
  if (format === 'json') {
    const document = readJsonObject(bytes);
    return onlyChild(document, name) ?? refuse(`The body must be {"${name}": {…}}`, document);
  }
  const root = readXmlRoot(bytes);
  return root.name === name ? root : refuse(`The body must be <${name}>…</${name}>`, root);
}

export function readJsonObject(bytes: Buffer, limits?: JsonLimits): WireElement {
  return readJson(decodeUtf8(bytes), limits);
}

function readXmlRoot(bytes: Buffer): WireElement {
  try {
    return wireElementOf(readXml(decodeXml(bytes)));
  } catch (error) {
    if (error instanceof XmlError) throw bodyProblem(`The body is not XML: ${error.message}`, error.place);
    throw error;
  }
}

function wireElementOf({ name, text, children, place }: XmlElement): WireElement {
  return { name, text, children: children.map(wireElementOf), place };
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
