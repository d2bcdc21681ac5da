import { decodeXml, readXml } from '../lib/xml/read-xml.ts';
import { XmlError } from '../lib/xml/xml-element.ts';
import { readJson } from './read-json.ts';
import { bodyProblem, onlyChild, requireFields, type WireElement } from './wire-element.ts';

export type DocumentFormat = 'xml' | 'json';

/** The document's root, whatever its name. XML has one; in JSON it is the only field. */
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
