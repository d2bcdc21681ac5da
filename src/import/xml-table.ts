import type { XmlElement } from '../lib/xml/xml-element.ts';
import { type Table, TEXT } from './tracked-table.ts';

/** An element as a table: attributes by `@name`, repeated children as a list, the text of elements without either as it is. */
export function tableOfXml(element: XmlElement): Table {
  const table: Record<string, unknown> = {};
  for (const [name, value] of element.attributes) table[`@${name}`] = value;
  for (const name of new Set(element.children.map((child) => child.name))) {
    const values = element.children.filter((child) => child.name === name).map(xmlValue);
    table[name] = values.length === 1 ? values[0] : values;
  }
  const text = element.text.trim();
  if (text !== '') table[TEXT] = text;
  return table;
}

function xmlValue(element: XmlElement): unknown {
  const isPlain = element.children.length === 0 && element.attributes.size === 0;
  return isPlain ? element.text.trim() : tableOfXml(element);
}

/** A new element, outside any document. */
export function node(name: string, content: string | readonly XmlElement[]): XmlElement {
  const inner =
    typeof content === 'string' ? { text: content, children: [] } : { text: '', children: content };
  return { name, attributes: new Map(), place: { line: 1, column: 1 }, ...inner };
}
