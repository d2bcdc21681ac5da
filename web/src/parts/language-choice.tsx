import { chooseLanguage, LANGUAGE, LANGUAGES, TEXTS } from '../texts.ts';
import { Choice } from './basics.tsx';

export function LanguageChoice() {
  return <Choice label={TEXTS.language} value={LANGUAGE} options={LANGUAGES} onChange={chooseLanguage} />;
}
