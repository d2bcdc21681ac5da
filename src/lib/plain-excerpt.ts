import { hideCredentials } from './hide-secrets.ts';

const MAX_CHARACTERS = 300;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
/** Comments and declarations, what a page does not show, and tags; the last one may be cut off. */
const MARKUP = /<!--.*?-->|<(script|style|title)\b.*?<\/\1\s*>|<[a-z/?!][^>]*(?:>|$)/gis;

/** The first words of an error report or page, without markup, control characters or secrets; null when there are none. */
export function plainExcerpt(markup: string): string | null {
  const text = markup
    .replace(/<!\[CDATA\[(.*?)(?:\]\]>|$)/gs, '$1')
    .replace(MARKUP, ' ')
    .replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replace(/[\s\p{C}\uFFFD]+/gu, ' ')
    .trim();
  const shown = hideCredentials(text);
  if (shown === '') return null;
  return shown.length > MAX_CHARACTERS ? `${shown.slice(0, MAX_CHARACTERS - 1)}…` : shown;
}
