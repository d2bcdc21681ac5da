/** Where something stands in a text, both counted from 1. */
export interface XmlPlace {
  readonly line: number;
  readonly column: number;
}

/** An element without what nobody here asks for: prefixes, comments, instructions, the order of text and elements. */
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
