/** A node of a document; built by `element` and `text`, written by `writeXml`. */
export interface XmlNode {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly content: string | readonly XmlNode[];
}

export function element(
  name: string,
  content: string | readonly XmlNode[] = [],
  attributes: Readonly<Record<string, string>> = {},
): XmlNode {
  return { name, attributes, content };
}

/** Without a declaration: UTF-8 needs none. Text and attributes are untrusted. */
export function writeXml(node: XmlNode): string {
  const attributes = Object.entries(node.attributes).map(([name, value]) => ` ${name}="${escapeXml(value)}"`);
  const start = `<${node.name}${attributes.join('')}`;
  if (node.content.length === 0) return `${start}/>`;
  const inner =
    typeof node.content === 'string' ? escapeXml(node.content) : node.content.map(writeXml).join('');
  return `${start}>${inner}</${node.name}>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};
/** XML 1.0, 2.2: other characters are not allowed, not even escaped. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

export function escapeXml(text: string): string {
  return text
    .replace(FORBIDDEN, '\ufffd')
    .replace(/[&<>"'\t\n\r]/g, (character) => ESCAPES[character] ?? character);
}
