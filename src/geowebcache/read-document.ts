import { decodeXml, readXml } from '../lib/xml/read-xml.ts';
import { type XmlElement, XmlError } from '../lib/xml/xml-element.ts';
import { readJson } from './read-json.ts';
import { bodyProblem, onlyChild, requireFields, type WireElement } from './wire-element.ts';

export type DocumentFormat = 'xml' | 'json';

/** The document's root, whatever its name. XML has one; in JSON it is the only field. */
export function readDocument(bytes: Buffer, format: DocumentFormat): WireElement {
  if (format === 'xml') return readXmlRoot(bytes);
  const document = readJson(decodeUtf8(bytes));
  const [root, another] = document.children;
  if (another) refuse('The body must have one field', another);
  return root ?? refuse('The body is an empty object', document);
}

/** The root, if it has this name, and what stands beside it in JSON. */
export function readDocumentNamed(bytes: Buffer, format: DocumentFormat, name: string) {
  const document = format === 'json' ? readJson(decodeUtf8(bytes)) : documentOf(readXmlRoot(bytes));
  const form = format === 'json' ? `{"${name}": {…}}` : `<${name}>…</${name}>`;
  const root = onlyChild(document, name) ?? refuse(`The body must be ${form}`, document);
  requireFields(root);
  return { root, document };
}

function documentOf(root: WireElement): WireElement {
  return { name: '', text: '', children: [root], place: root.place };
}

function readXmlRoot(bytes: Buffer): WireElement {
  try {
    return wireElementOf(readXml(decodeXml(bytes)));
  } catch (error) {
    if (error instanceof XmlError) throw bodyProblem(`The body is not XML: ${error.message}`, error.place);
    throw error;
  }
}

/** For callers that have parsed the XML already. */
export function wireElementOf({ name, text, children, place, attributes }: XmlElement): WireElement {
  const plain = { name, text, children: children.map(wireElementOf), place };
  return attributes.size === 0 ? plain : { ...plain, attributes };
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
