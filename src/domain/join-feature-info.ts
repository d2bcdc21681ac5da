/** Feature information of several layers as one document. */
import { isUtf8 } from 'node:buffer';
import { TilewardenError } from './errors.ts';

const ROOT =
  /^(?:\s|<\?[^>]*\?>|<!--(?:[^-]|-(?!->))*-->|<!DOCTYPE[^>[]*>)*<([\w.:-]+)((?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/;
const ATTRIBUTE = /\s+([\w.:-]+)\s*=\s*("[^"]*"|'[^']*')/gy;
const BODY = /<body\b/i;
const BODY_END = /<\/body\b/i;
/** The bounds of a document, which are removed: they are wrong in a joined one. */
const BOUNDED_BY = /boundedBy>/;

/** Bytes of all documents: they are joined in one turn of the event loop. */
export const MAX_JOINED = 2 ** 20;

/** Joins documents in their order; without any the result is an empty document. A single one stays as it is. */
export function joinFeatureInfo(mediaType: string, documents: readonly Buffer[]): Buffer {
  const [only, ...others] = documents;
  if (only && others.length === 0) return only;
  if (documents.reduce((sum, { length }) => sum + length, 0) > MAX_JOINED)
    throw new TilewardenError(
      'source-bad-answer',
      'The feature information of these layers has more than 1 MiB; request fewer layers or features.',
    );
  const texts = documents.map((bytes) => bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1'));
  return Buffer.from(joinerOf(mediaType)(texts));
}

function joinerOf(mediaType: string): (texts: readonly string[]) => string {
  if (/[/+]json$/.test(mediaType)) return joinJson;
  if (mediaType === 'text/html') return joinHtml;
  return /\/xml$|gml/.test(mediaType) ? joinXml : joinText;
}

function joinText(texts: readonly string[]): string {
  return texts.map((text) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join('');
}

/** The content of all bodies, in the first document. */
function joinHtml([first = '<html><body></body></html>', ...others]: readonly string[]): string {
  const bodies = others.map(bodyOf).join('\n');
  if (bodies === '') return first;
  const end = first.search(BODY_END);
  return end < 0 ? `${first}\n${bodies}` : `${first.slice(0, end)}${bodies}${first.slice(end)}`;
}

/** The content of the body; the whole text if there is no body element. */
function bodyOf(text: string): string {
  const begin = text.indexOf('>', text.search(BODY));
  const end = text.search(BODY_END);
  return text.search(BODY) < 0 || end < begin ? text : text.slice(begin + 1, end);
}

/** One collection of all features; a list of the documents when one of them is not a collection. */
function joinJson(texts: readonly string[]): string {
  const documents = texts.map(parsed);
  const features = documents.map(featuresIn);
  if (features.includes(null)) return JSON.stringify(documents);
  const [first = {}] = documents as readonly object[];
  const collection = { ...first, type: 'FeatureCollection', features: features.flat() };
  for (const key of ['totalFeatures', 'numberMatched', 'numberReturned', 'bbox', 'timeStamp']) {
    if (key in collection) Reflect.deleteProperty(collection, key);
  }
  return JSON.stringify(collection);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function featuresIn(document: unknown): readonly unknown[] | null {
  const { type, features } = Object(document) as { readonly type?: unknown; readonly features?: unknown };
  if (type === 'FeatureCollection' && Array.isArray(features)) return features;
  return type === 'Feature' ? [document] : null;
}

/** The content of all roots in the first one, if their names and prefixes agree; otherwise the roots side by side. */
function joinXml(texts: readonly string[]): string {
  const roots = texts.map(rootOf);
  const [first] = roots;
  const name = first?.name ?? 'FeatureInfo';
  const attributes = new Map<string, string>();
  const isOne = roots.every((root) => {
    if (root.name !== name) return false;
    return [...root.attributes].every(([key, value]) => {
      const isNamespace = key === 'xmlns' || key.startsWith('xmlns:');
      if (isNamespace && (attributes.get(key) ?? value) !== value) return false;
      if (!attributes.has(key)) attributes.set(key, value);
      return true;
    });
  });
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
  if (!isOne)
    return `${declaration}<FeatureInfo>${roots.map(({ whole }) => whole).join('\n')}</FeatureInfo>\n`;
  const written = [...attributes].map(([key, value]) => ` ${key}=${value}`).join('');
  const content = roots.map((root) => withoutBounds(root.content)).join('');
  return `${declaration}<${name}${written}>${content}</${name}>\n`;
}

function withoutBounds(content: string): string {
  const at = content.search(BOUNDED_BY);
  const begin = content.lastIndexOf('<', at);
  const name = content.slice(begin + 1, content.indexOf('>', at) + 1);
  const end = at < 0 ? -1 : content.indexOf(`</${name}`, at);
  return end < 0 ? content : content.slice(0, begin) + content.slice(end + name.length + 2);
}

function rootOf(text: string) {
  const found = ROOT.exec(text);
  const [all = '', name = '', attributes = '', empty = ''] = found ?? [];
  const end = text.lastIndexOf(`</${name}`);
  const isWhole = found !== null && (empty !== '' || end >= all.length);
  if (!isWhole) return { name: '', attributes: new Map<string, string>(), content: '', whole: '' };
  return {
    name,
    attributes: new Map([...attributes.matchAll(ATTRIBUTE)].map(([, key = '', value = '']) => [key, value])),
    content: empty === '' ? text.slice(all.length, end) : '',
    whole: text.slice(all.lastIndexOf(`<${name}`)).trim(),
  };
}
