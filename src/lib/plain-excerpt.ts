import { hideCredentials } from './hide-secrets.ts';
import { replaceSections, type SectionRules } from './scan-text.ts';

const MAX_CHARACTERS = 300;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const CDATA: SectionRules = { open: /<!\[CDATA\[/g, closeOf: () => /\]\]>/g, replace: (inner) => inner };
/** Elements that a page does not show. */
const HIDDEN = { '<script': /<\/script\s*>/gi, '<style': /<\/style\s*>/gi, '<title': /<\/title\s*>/gi };
/** Comments, hidden elements, and tags and declarations. */
const MARKUP: SectionRules = {
  open: /<!--|<(?:script|style|title)\b|<[a-z/?!]/gi,
  closeOf: (open) => (open === '<!--' ? /-->/g : (HIDDEN[open.toLowerCase() as keyof typeof HIDDEN] ?? />/g)),
  replace: () => ' ',
};

/** The first words of an error report or page, without markup, control characters or secrets; null when there are none. */
export function plainExcerpt(markup: string): string | null {
  const text = replaceSections(replaceSections(markup, CDATA), MARKUP)
    .replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replace(/[\s\p{C}\uFFFD]+/gu, ' ')
    .trim();
  const shown = hideCredentials(text);
  if (shown === '') return null;
  return shown.length > MAX_CHARACTERS ? `${shown.slice(0, MAX_CHARACTERS - 1)}…` : shown;
}
