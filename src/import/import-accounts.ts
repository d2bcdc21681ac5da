import type { ImportReport } from './import-report.ts';

export interface ImportedUser {
  readonly name: string;
  readonly role: 'admin' | 'viewer';
}

/** `users.properties`: `name=password,ROLE_…,enabled` on each line. Passwords are not taken over. */
export function importUsers(text: string, report: ImportReport): readonly ImportedUser[] {
  return text.split(/\r?\n/).flatMap((line) => importUser(line.trim(), report) ?? []);
}

function importUser(line: string, report: ImportReport): ImportedUser | null {
  const [, name = '', rest = ''] = /^([^#!=:\s][^=:]*?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
  if (name === '') return null;
  const subject = `user ${name}`;
  const words = rest
    .split(',')
    .slice(1)
    .map((word) => word.trim());
  if (words.includes('disabled')) {
    report.leftOut(subject, 'all of it', 'is disabled');
    return null;
  }
  const isAdministrator = words.includes('ROLE_ADMINISTRATOR');
  const role = isAdministrator ? 'admin' : 'viewer';
  report.changed(subject, 'password', `gets a new one; the role is ${role}`);
  return { name, role };
}
