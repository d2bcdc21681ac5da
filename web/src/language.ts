import type { Texts } from './texts.ts';

export const LANGUAGES = { en: 'English', de: 'Deutsch', fr: 'Français', es: 'Español' };
type Language = keyof typeof LANGUAGES;

/** Loaded when used. English is part of the console. */
const TRANSLATIONS: Readonly<Record<Language, () => Promise<{ readonly default: Texts } | null>>> = {
  en: async () => null,
  de: () => import('./texts/de/index.ts'),
  fr: () => import('./texts/fr/index.ts'),
  es: () => import('./texts/es/index.ts'),
};

const KEY = 'tilewarden-language';
/** In the order of the browser's settings; none outside a browser. */
const preferred = 'document' in globalThis ? navigator.languages : [];

/** The user's choice, or the first known language of the browser. */
export const LANGUAGE: Language =
  [chosenLanguage(), ...preferred].map(languageOf).find((known) => known !== null) ?? 'en';
/** For numbers and dates: the browser's variant of the language, e.g. `de-CH`. */
export const LOCALE =
  preferred.find((tag) => languageOf(tag) === LANGUAGE) ?? (LANGUAGE === 'en' ? 'en-GB' : LANGUAGE);

/** Null: English, or a translation that cannot be loaded. */
export async function loadTranslation(): Promise<Texts | null> {
  const loaded = await TRANSLATIONS[LANGUAGE]().catch(() => null);
  if ('document' in globalThis) document.documentElement.lang = LANGUAGE;
  return loaded?.default ?? null;
}

export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(KEY, chosen);
  location.reload();
}

function chosenLanguage(): string {
  return 'document' in globalThis ? (localStorage.getItem(KEY) ?? '') : '';
}

function languageOf(tag: string): Language | null {
  const [code = ''] = tag.toLowerCase().split('-', 1);
  return (Object.keys(LANGUAGES) as Language[]).find((known) => known === code) ?? null;
}
