/** RFC 8288 in JSON, as OGC APIs write it. */
export interface OgcLink {
  readonly href: string;
  readonly rel: string;
  readonly type?: string;
  readonly title?: string;
  /** The address has variables in braces. */
  readonly templated?: true;
}

export const JSON_TYPE = 'application/json';
export const HTML_TYPE = 'text/html';

const OGC_RELATION = 'http://www.opengis.net/def/rel/ogc/1.0/';

/** The full name of a relation that the OGC has registered, e.g. `tiling-scheme`. */
export function ogcRelation(name: string): string {
  return `${OGC_RELATION}${name}`;
}

export function jsonLink(href: string, rel: string, title: string): OgcLink {
  return { href, rel, type: JSON_TYPE, title };
}

/** The document itself in both its forms. The bare address gives the JSON to whatever does not ask for HTML. */
export function selfLinks(href: string): readonly OgcLink[] {
  const query = href.includes('?') ? '&' : '?';
  return [
    { href, rel: 'self', type: JSON_TYPE, title: 'This document' },
    { href: `${href}${query}f=html`, rel: 'alternate', type: HTML_TYPE, title: 'This document as HTML' },
  ];
}

/** RFC 3986, 3.3: a colon may stand in a path, and clients look for names such as `EPSG:4326` in addresses. */
export function pathPart(name: string): string {
  return encodeURIComponent(name).replaceAll('%3A', ':');
}
