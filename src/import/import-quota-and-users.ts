import { invalid } from '../domain/errors.ts';
import { wireElementOf } from '../geowebcache/read-document.ts';
import {
  booleanField,
  childrenNamed,
  integerField,
  numberField,
  onlyChild,
  textField,
  type WireElement,
} from '../geowebcache/wire-element.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import type { XmlElement } from '../lib/xml/xml-element.ts';
import { type ImportReport, WHOLE } from './import-report.ts';
import { recorded } from './recorded-element.ts';

const NOT_HERE: Readonly<Record<string, string>> = {
  quotaStore: 'usage is counted in the tile stores',
  diskBlockSize: 'what tiles really take is counted',
};

/** `geowebcache-diskquota.xml` as the body of `PUT /api/v1/quota`. Throws `request-invalid`. */
export function importQuota(xml: XmlElement, report: ImportReport): object {
  const { element: root, unread } = recorded(wireElementOf(xml));
  if (root.name !== 'gwcQuotaConfiguration') {
    throw invalid(`The root must be gwcQuotaConfiguration, not ${root.name}.`);
  }
  const layerQuotas = childrenNamed(root, 'layerQuotas').flatMap((list) => list.children);
  const quota = omitUndefined({
    enabled: booleanField(root, 'enabled'),
    cacheCleanUpFrequency: integerField(root, 'cacheCleanUpFrequency'),
    cacheCleanUpUnits: textField(root, 'cacheCleanUpUnits'),
    maxConcurrentCleanUps: integerField(root, 'maxConcurrentCleanUps'),
    globalExpirationPolicyName: textField(root, 'globalExpirationPolicyName'),
    globalQuota: quotaIn(root, 'globalQuota'),
    layerQuotas: layerQuotas.length > 0 ? layerQuotas.map(layerQuota) : undefined,
  });
  const about = report.about('disk quota');
  const left = unread();
  about.taken(...root.children.map(({ name }) => name).filter((name) => !left.includes(name)));
  for (const path of left) about.leftOut(path, NOT_HERE[path] ?? 'is not known here');
  return quota;
}

function layerQuota(entry: WireElement): object {
  return omitUndefined({
    layer: textField(entry, 'layer'),
    expirationPolicyName: textField(entry, 'expirationPolicyName'),
    quota: quotaIn(entry, 'quota'),
  });
}

function quotaIn(parent: WireElement, name: string): object | undefined {
  const quota = onlyChild(parent, name);
  return quota
    ? omitUndefined({ value: numberField(quota, 'value'), units: textField(quota, 'units') })
    : undefined;
}

export interface ImportedUser {
  readonly name: string;
  readonly role: 'admin' | 'viewer';
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
  const [, key = '', rest = ''] = /^((?:\\.|[^\\=:\s])+)\s*[=:\s]\s*(.*)$/.exec(line) ?? [];
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
