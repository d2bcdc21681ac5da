import Database from 'better-sqlite3';
import { misconfigured } from '../../domain/errors.ts';

/**
 * Closing any descriptor of a file drops all locks of the process on it. From this version on SQLite checks a second lock
 * before it gives up a log, so that bundles may be read beside it (decisions 0176 and 0210).
 */
const OLDEST = [3, 51] as const;

export function checkSqliteVersion(version = sqliteVersion()): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  const needed = OLDEST.join('.');
  throw misconfigured(
    `SQLite ${version} can damage tiles that several processes read and write; Tilewarden needs ${needed} or later. Reinstall the package better-sqlite3 with the version in package-lock.json.`,
  );
}

function sqliteVersion(): string {
  const db = new Database(':memory:');
  try {
    return db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '';
  } finally {
    db.close();
  }
}
