import type { ApiResponse } from '../app.ts';
import { CLIENT_FLAGS, type Command, type FlagValues, flag, misuse, printed } from './command.ts';
import { bar, columns, countText, plural, sizeText } from './format.ts';
import { type FieldFlags, readResponse, serverClientFor } from './server-client.ts';

export type QuotaDocument = ApiResponse<'GET /api/v1/quota'>;

const PATH = '/api/v1/quota';

export const quota: Command = {
  name: 'quota',
  summary: 'show and change the disk quota',
  operands: { usage: 'get | set', least: 1, most: 1 },
  flags: [
    flag('on', null, 'evict tiles when the quota is exceeded'),
    flag('off', null, 'evict nothing; usage is still counted'),
    flag('size', 'SIZE', 'e.g. "100 GiB" or 100GB'),
    flag('policy', 'POLICY', 'eviction policy: LRU or LFU'),
    flag('layer', 'NAME', 'apply size and policy to this layer'),
    flag('no-size', null, 'with --layer: remove the quota of the layer'),
    flag('every', 'TIME', 'how often to check, e.g. "10 seconds" or 5min'),
    flag('json', null, 'print JSON, for scripts'),
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal, { operands: [word] }) {
    if (word !== 'get' && word !== 'set')
      throw misuse('Usage: tilewarden quota get, or tilewarden quota set …');
    const client = serverClientFor(flags, FIELDS);
    const ask = (answer: unknown) => readResponse<QuotaDocument>(answer, 'globalQuota');
    const now = ask(await client.get(PATH));
    const document = word === 'get' ? now : ask(await client.put(PATH, quotaChange(flags, now)));
    return printed(terminal, flags, document, () => describeQuota(document));
  },
};

export function describeQuota(document: QuotaDocument): string {
  const sizeOf = ({ value, units }: { value: number; units: string }) => `${value} ${units}`;
  const layers = document.layerQuotas.map((own) => [own.layer, sizeOf(own.quota), own.expirationPolicyName]);
  const rows = [...layers, ['all layers', sizeOf(document.globalQuota), document.globalExpirationPolicyName]];
  const every = `${document.cacheCleanUpFrequency} ${document.cacheCleanUpUnits.toLowerCase()}`;
  const state = document.enabled ? `enforced every ${every}` : 'not enforced: tilewarden quota set --on';
  return `The quota is ${state}\n${columns([['LAYER', 'QUOTA', 'POLICY'], ...rows])}`;
}

export function quotaChange(flags: FlagValues, now: QuotaDocument): object {
  if (flags.on !== undefined && flags.off !== undefined) throw misuse('--on and --off exclude each other.');
  const change = {
    ...(flags.on !== undefined && { enabled: true }),
    ...(flags.off !== undefined && { enabled: false }),
    ...everyOf(flags.every),
    ...(flags.layer === undefined ? globalChange(flags) : layerChange(flags.layer, flags, now)),
  };
  if (Object.keys(change).length > 0) return change;
  throw misuse('Nothing to set: give --on, --off, --size, --policy or --every.');
}

function globalChange(flags: FlagValues): object {
  if (flags['no-size'] !== undefined) throw misuse('--no-size needs --layer NAME.');
  return {
    ...(flags.size !== undefined && { globalQuota: sizeIn(flags.size) }),
    ...(flags.policy !== undefined && { globalExpirationPolicyName: policyIn(flags.policy) }),
  };
}

function layerChange(layer: string, flags: FlagValues, now: QuotaDocument): object {
  const others = now.layerQuotas.filter((own) => own.layer !== layer);
  if (flags['no-size'] !== undefined) return { layerQuotas: others };
  const before = now.layerQuotas.find((own) => own.layer === layer);
  const size = flags.size === undefined ? before?.quota : sizeIn(flags.size);
  if (!size) throw misuse(`--layer ${layer} needs --size, e.g. --size "5 GiB".`);
  const named = flags.policy === undefined ? before?.expirationPolicyName : policyIn(flags.policy);
  const policy = named ?? now.globalExpirationPolicyName;
  return { layerQuotas: [...others, { layer, expirationPolicyName: policy, quota: size }] };
}

const SIZE = /^\s*(\d+(?:\.\d+)?|\.\d+)\s*([kmgt]?)(i?)b\s*$/i;
const PREFIXES = ['', 'K', 'M', 'G', 'T'];

/** The server counts in KiB and so on; KB and so on become those, rounded down. */
function sizeIn(text: string): { value: number; units: string } {
  const [, amount, prefix = '', binary] = SIZE.exec(text) ?? [];
  const power = PREFIXES.indexOf(prefix.toUpperCase());
  if (amount === undefined || (power === 0 && binary)) {
    throw misuse(
      `--size must be a number with B, KB, MB, GB, TB, KiB, MiB, GiB or TiB, e.g. "100 GiB", not ${text}.`,
    );
  }
  const units = power === 0 ? 'B' : `${PREFIXES[power]}iB`;
  if (power === 0 || binary) return { value: Number(amount), units };
  return { value: Math.floor(Number(amount) * (1000 / 1024) ** power * 100) / 100, units };
}

function policyIn(text: string): string {
  const policy = text.toUpperCase();
  if (policy === 'LRU' || policy === 'LFU') return policy;
  throw misuse(`--policy must be LRU or LFU, not ${text}.`);
}

const TIMES = [
  ['SECONDS', /^(s|seconds?)$/i],
  ['MINUTES', /^(min|minutes?)$/i],
  ['HOURS', /^(h|hours?)$/i],
  ['DAYS', /^(d|days?)$/i],
] as const;

function everyOf(text: string | undefined): object {
  if (text === undefined) return {};
  const [, frequency, word = ''] = /^\s*(\d+)\s*([A-Za-z]+)\s*$/.exec(text) ?? [];
  const unit = TIMES.find(([, names]) => names.test(word));
  if (frequency === undefined || unit === undefined)
    throw misuse(
      `--every must be a number with seconds, minutes, hours or days, e.g. "10 seconds", not ${text}.`,
    );
  return { cacheCleanUpFrequency: Number(frequency), cacheCleanUpUnits: unit[0] };
}

const FIELDS: FieldFlags = {
  globalQuota: 'size',
  'globalQuota.value': 'size',
  globalExpirationPolicyName: 'policy',
  cacheCleanUpFrequency: 'every',
  cacheCleanUpUnits: 'every',
};

export type UsageDocument = ApiResponse<'GET /api/v1/usage'>;

const BAR = 20;

export const usage: Command = {
  name: 'usage',
  summary: 'show the disk usage of cached tiles',
  flags: [
    flag('sets', null, 'list grid sets, formats and parameters of each layer too'),
    flag('json', null, 'print JSON, for scripts'),
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal) {
    const document = readResponse<UsageDocument>(await serverClientFor(flags).get('/api/v1/usage'), 'layers');
    return printed(terminal, flags, document, () => describeUsage(document, flags.sets !== undefined));
  },
};

export function describeUsage(document: UsageDocument, withSets: boolean): string {
  const byBytes = <T extends { bytes: number }>(rows: readonly T[]) =>
    [...rows].sort((a, b) => b.bytes - a.bytes);
  const rows = byBytes(document.layers).flatMap((layer) => {
    const part = share(layer.bytes, document.bytes);
    const row = [layer.name, sizeText(layer.bytes), countText(layer.tiles), part];
    const sets = withSets ? byBytes(layer.tileSets) : [];
    return [
      row,
      ...sets.map((set) => [
        `  ${set.gridSet} ${set.format} ${setText(set)}`.trimEnd(),
        sizeText(set.bytes),
        countText(set.tiles),
        share(set.bytes, document.bytes),
      ]),
    ];
  });
  const total = ['all layers', sizeText(document.bytes), countText(document.tiles), ''];
  return [columns([['LAYER', 'SIZE', 'TILES', 'SHARE'], ...rows, total]), ...facts(document)].join('\n');
}

/** The id if the values are unknown: no layer has them now. */
function setText({ parameters, parametersId }: UsageDocument['layers'][number]['tileSets'][number]): string {
  if (parameters === null) return parametersId?.slice(0, 8) ?? '';
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function facts(document: UsageDocument): string[] {
  const { bytes, quota, sweeping, growthPerDay, fullInDays, evicted, disks } = document;
  const limit = quota.globalQuota.bytes;
  const lines = [
    quota.enabled
      ? `Quota ${share(bytes, limit)} of ${sizeText(limit)}`
      : 'No quota is enforced: tilewarden quota set --on',
    sweeping > 0 ? `${sizeText(sweeping)} of dropped tiles are being freed` : '',
    evicted.pages > 0 ? `${plural(evicted.tiles, 'tile')}, ${sizeText(evicted.bytes)}, evicted so far` : '',
    growthPerDay === null
      ? ''
      : `Growth ${growthPerDay < 0 ? '-' : ''}${sizeText(Math.abs(growthPerDay))} per day`,
    fullInDays === null ? '' : fullInDays === 0 ? 'Full' : `Full in ${plural(fullInDays, 'day')}`,
    ...disks.flatMap(({ store, freePercent, storing }) =>
      storing ? [] : `The disk of the store ${store} is full (${freePercent} % free): tiles are not stored`,
    ),
  ];
  return lines.filter((line) => line !== '');
}

function share(part: number, whole: number): string {
  const value = whole === 0 ? 0 : part / whole;
  return `${bar(Math.round(value * BAR), BAR)} ${Math.round(value * 100)} %`;
}
