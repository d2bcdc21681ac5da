import { invalid } from '../domain/errors.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import type { XmlElement } from '../lib/xml/xml-element.ts';
import { type ImportedUser, type ImportReport, WHOLE } from './import-report.ts';
import { type Reasons, TrackedTable } from './tracked-table.ts';
import { tableOfXml } from './xml-table.ts';

const REASONS: Reasons = {
  quotaStore: 'usage is counted in the tile stores',
  diskBlockSize: 'the bytes that tiles really take are counted',
};

/** `geowebcache-diskquota.xml` as the body of `PUT /api/v1/quota`. Throws `request-invalid` for another document. */
export function importQuota(xml: XmlElement, report: ImportReport): object {
  if (xml.name !== 'gwcQuotaConfiguration') {
    throw invalid(`The root must be gwcQuotaConfiguration, not ${xml.name}.`);
  }
  const root = new TrackedTable(tableOfXml(xml), report.about('disk quota'));
  const layerQuotas = root.table('layerQuotas').tables('LayerQuota').map(layerQuota);
  const quota = omitUndefined({
    enabled: root.flag('enabled'),
    cacheCleanUpFrequency: root.number('cacheCleanUpFrequency'),
    cacheCleanUpUnits: root.text('cacheCleanUpUnits'),
    maxConcurrentCleanUps: root.number('maxConcurrentCleanUps'),
    globalExpirationPolicyName: root.text('globalExpirationPolicyName'),
    globalQuota: quotaIn(root, 'globalQuota'),
    layerQuotas: layerQuotas.length > 0 ? layerQuotas : undefined,
  });
  root.report(REASONS);
  return quota;
}

function layerQuota(entry: TrackedTable): object {
  return omitUndefined({
    layer: entry.text('layer'),
    expirationPolicyName: entry.text('expirationPolicyName'),
    quota: quotaIn(entry, 'quota'),
  });
}

function quotaIn(parent: TrackedTable, name: string): object | undefined {
  if (!parent.has(name)) return undefined;
  const quota = parent.table(name);
  return omitUndefined({ value: quota.number('value'), units: quota.text('units') });
}

/** `users.properties`: `name=password,ROLE_…,enabled` on each line. Passwords are not taken over. */
export function importUsers(text: string, report: ImportReport): readonly ImportedUser[] {
  const lines = text.split(/\r?\n/).filter((line) => !/^\s*[#!]/.test(line));
  // A backslash at the end of a line joins the next one to it.
  const joined = lines
    .join('\n')
    .replaceAll(/\\\n[ \t]*/g, '')
    .split('\n');
  return joined.flatMap((line) => importUser(line.trim(), report) ?? []);
}

function importUser(line: string, report: ImportReport): ImportedUser | null {
  const [, key = '', rest = ''] = /^((?:\\.|[^\\=:\s])+)([=:\s].*)$/.exec(line) ?? [];
  const name = unescaped(key);
  if (name === '') return null;
  const about = report.about(`user ${name}`);
  const words = rest
    .split(',')
    .slice(1)
    .map((word) => word.trim());
  if (words.includes('disabled')) return about.leftOut(WHOLE, 'is disabled');
  const isAdministrator = words.includes('ROLE_ADMINISTRATOR');
  const role = isAdministrator ? 'admin' : 'viewer';
  about.changed('password', `gets a new one; the role is ${role}`);
  return { name, role };
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' };

/** As `java.util.Properties` reads a key. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
