/** A position in a text, both counted from 1. */
export interface XmlPlace {
  readonly line: number;
  readonly column: number;
}

/** An element without its unused parts: prefixes, comments, instructions, the order of text and elements. */
export interface XmlElement {
  /** Without its prefix. */
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** The element's own text, that of its children left out. */
  readonly text: string;
  readonly place: XmlPlace;
}

export class XmlError extends Error {
  readonly place: XmlPlace;

  constructor(message: string, place: XmlPlace) {
    super(message);
    this.name = 'XmlError';
    this.place = place;
  }
}

export function childrenOf(element: XmlElement, name: string): readonly XmlElement[] {
  return element.children.filter((inner) => inner.name === name);
}

/** The first of that name; null: there is none. */
export function childOf(element: XmlElement, name: string): XmlElement | null {
  return element.children.find((inner) => inner.name === name) ?? null;
}

/** The text of the first child of that name; empty when there is none. */
export function textIn(element: XmlElement, name: string): string {
  return childOf(element, name)?.text.trim() ?? '';
}

/** The value of `xlink:href` with any prefix; null: absent. */
export function hrefOf({ attributes }: XmlElement): string | null {
  for (const [name, value] of attributes) if (name === 'href' || name.endsWith(':href')) return value;
  return null;
}

/** Below the element, in the document's order. */
export function descendantsOf(element: XmlElement, name: string): readonly XmlElement[] {
  return [...walk(element)].filter((inner) => inner.name === name);
}

function* walk(element: XmlElement): Generator<XmlElement> {
  yield element;
  for (const inner of element.children) yield* walk(inner);
}
