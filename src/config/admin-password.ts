import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Environment } from './environment.ts';
import { SettingsError } from './settings-error.ts';

const VARIABLE = 'TILEWARDEN_ADMIN_PASSWORD';
const FILE_VARIABLE = 'TILEWARDEN_ADMIN_PASSWORD_FILE';

/** What the first administrator's password is to be; null when nobody says. Not a flag: flags are seen by everybody on the machine. */
export function readAdminPassword(input: {
  readonly environment: Environment;
  readonly workingFolder: string;
}): string | null {
  const { environment, workingFolder } = input;
  const password = environment[VARIABLE] || null;
  const file = environment[FILE_VARIABLE] || null;
  if (password !== null && file !== null) {
    throw new SettingsError([`${FILE_VARIABLE}  cannot be given together with ${VARIABLE}`]);
  }
  return file === null ? password : readPasswordFile(resolve(workingFolder, file));
}

function readPasswordFile(path: string): string {
  const text = readText(path).replace(/\r?\n$/, '');
  if (text !== '' && !text.includes('\n')) return text;
  throw new SettingsError([`${FILE_VARIABLE}  the file must hold the password on one line`]);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new SettingsError([`${FILE_VARIABLE}  the file cannot be read (${why})`]);
  }
}
