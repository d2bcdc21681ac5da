import { javaDouble } from '../lib/java-number.ts';
import { element, writeXml, type XmlNode } from '../lib/xml/write-xml.ts';
import type { DocumentFormat } from './read-document.ts';

/** A node of a document of GeoWebCache, which is written as XML or as JSON. */
export interface DocumentNode {
  readonly name: string;
  readonly content: string | number | boolean | readonly DocumentNode[];
  readonly attributes?: Readonly<Record<string, string>>;
  /** `list`: an array in JSON, its entries without their names. `double`: a number that XML has in Java's spelling. */
  readonly as?: 'list' | 'double';
}

export function nodeOf(name: string, content: readonly (DocumentNode | null)[]): DocumentNode {
  return { name, content: content.filter((child) => child !== null) };
}

export function leaf(name: string, value: string | number | boolean | null | undefined): DocumentNode | null {
  return value === undefined || value === null ? null : { name, content: value };
}

export function double(name: string, value: number | undefined): DocumentNode | null {
  return value === undefined ? null : { name, content: value, as: 'double' };
}

export function listOf(name: string, entries: readonly DocumentNode[] | undefined): DocumentNode | null {
  return entries ? { name, content: entries, as: 'list' } : null;
}

export function textList(
  name: string,
  entry: string,
  values: readonly (string | number)[] | undefined,
): DocumentNode | null {
  return listOf(
    name,
    values?.map((value) => ({ name: entry, content: value })),
  );
}

export function doubleList(
  name: string,
  entry: string,
  values: readonly number[] | undefined,
): DocumentNode | null {
  return listOf(
    name,
    values?.map((value) => ({ name: entry, content: value, as: 'double' })),
  );
}

/** `{"root": {…}}`, or XML with its declaration. */
export function writeDocument(root: DocumentNode, format: DocumentFormat, start = DECLARATION): string {
  if (format === 'json') return JSON.stringify({ [root.name]: jsonOf(root) });
  return `${start}${writeXml(xmlOf(root))}`;
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

function xmlOf({ name, content, attributes = {}, as }: DocumentNode): XmlNode {
  if (typeof content === 'number' && as === 'double') return element(name, javaDouble(content), attributes);
  return element(name, typeof content === 'object' ? content.map(xmlOf) : String(content), attributes);
}

function jsonOf({ content, attributes = {}, as }: DocumentNode): unknown {
  if (typeof content !== 'object') return content;
  if (as === 'list') return content.map(jsonOf);
  const fields = new Map<string, unknown>(
    Object.entries(attributes).map(([name, value]) => [`@${name}`, value]),
  );
  for (const name of new Set(content.map((child) => child.name))) {
    const values = content.filter((child) => child.name === name).map(jsonOf);
    fields.set(name, values.length === 1 ? values[0] : values);
  }
  return Object.fromEntries(fields);
}
