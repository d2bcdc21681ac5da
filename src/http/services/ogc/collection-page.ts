import { invalid, shortened } from '../../../domain/errors.ts';
import type { Exchange } from '../../exchange.ts';
import { readKvp } from '../kvp.ts';
import { jsonLink, type OgcLink, selfLinks } from './ogc-link.ts';

/** Which of the layers a page of their list shows. */
export interface CollectionPage {
  readonly limit: number;
  readonly offset: number;
  /** The caller did not say which. */
  readonly first: boolean;
}

const USUAL_LIMIT = 100;
/** As many as are written in a few milliseconds. */
const MOST_AT_ONCE = 250;
const WHOLE_NUMBER = /^\d{1,9}$/;

/** OGC API – Common – Part 2: a limit that is higher than what there is on a page is lowered. */
export function pageAsked({ query }: Exchange): CollectionPage {
  if (query === '') return { limit: USUAL_LIMIT, offset: 0, first: true };
  const asked = readKvp(query, (name) => invalid(`The parameter ${name.toLowerCase()} is given twice.`));
  const [limit, offset] = [
    numberAsked(asked('LIMIT'), 'limit', 1),
    numberAsked(asked('OFFSET'), 'offset', 0),
  ];
  return {
    limit: Math.min(limit ?? USUAL_LIMIT, MOST_AT_ONCE),
    offset: offset ?? 0,
    first: limit === null && offset === null,
  };
}

export function pageLinks(
  address: string,
  { limit, offset, first }: CollectionPage,
  total: number,
): readonly OgcLink[] {
  const at = (from: number) => `${address}?limit=${limit}&offset=${from}`;
  return [
    ...selfLinks(first ? address : at(offset)),
    ...(offset > 0 ? [jsonLink(at(Math.max(0, offset - limit)), 'prev', 'The layers before')] : []),
    ...(offset + limit < total ? [jsonLink(at(offset + limit), 'next', 'More layers')] : []),
  ];
}

function numberAsked(text: string | null, name: string, least: number): number | null {
  if (text === null) return null;
  if (WHOLE_NUMBER.test(text) && Number(text) >= least) return Number(text);
  throw invalid(`${name} must be a whole number from ${least}, not ${shortened(text)}.`);
}
