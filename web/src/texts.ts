import ENGLISH from '../locales/en.json';

export const LANGUAGES = { en: 'English', de: 'Deutsch', fr: 'Français', es: 'Español' };
type Language = keyof typeof LANGUAGES;
type Texts = typeof ENGLISH;

/** Loaded when used. English is part of the console, and its keys are the type of the others. */
const LOCALES: Readonly<Record<Language, () => Promise<{ readonly default: Texts }>>> = {
  en: async () => ({ default: ENGLISH }),
  de: () => import('../locales/de.json'),
  fr: () => import('../locales/fr.json'),
  es: () => import('../locales/es.json'),
};

const KEY = 'tilewarden-language';
const isBrowser = 'document' in globalThis;
/** In the order of the browser's settings. */
const preferred = isBrowser ? navigator.languages : [];

/** The user's choice, or the first known language of the browser. */
export const LANGUAGE: Language =
  [chosenLanguage(), ...preferred].map(languageOf).find((known) => known !== null) ?? 'en';
/** For numbers and dates: the browser's variant of the language, e.g. `de-CH`. */
export const LOCALE =
  preferred.find((tag) => languageOf(tag) === LANGUAGE) ?? (LANGUAGE === 'en' ? 'en-GB' : LANGUAGE);

/** A page has one language: choosing another one reloads it. English if a translation cannot be loaded. */
export const TEXTS: Texts = await LOCALES[LANGUAGE]().then(
  (locale) => locale.default,
  () => ENGLISH,
);
if (isBrowser) document.documentElement.lang = LANGUAGE;

export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(KEY, chosen);
  location.reload();
}

function chosenLanguage(): string {
  return isBrowser ? (localStorage.getItem(KEY) ?? '') : '';
}

function languageOf(tag: string): Language | null {
  const [code = ''] = tag.toLowerCase().split('-', 1);
  return (Object.keys(LANGUAGES) as Language[]).find((known) => known === code) ?? null;
}
