import { z } from 'zod';
import { CLIENT_FLAGS, type Command } from './command.ts';
import { amountOf, columns, countOf, sizeOf } from './plain-words.ts';
import { readAnswer, serverClientFor } from './server-client.ts';

const amount = { bytes: z.number(), tiles: z.number() };
const usageSchema = z.object({
  ...amount,
  sweeping: z.number(),
  quota: z.object({ enabled: z.boolean(), globalQuota: z.object({ bytes: z.number() }) }),
  growthPerDay: z.number().nullable(),
  fullInDays: z.number().nullable(),
  evicted: z.object({ pages: z.number(), ...amount }),
  disks: z.array(z.object({ store: z.string(), freePercent: z.number(), storing: z.boolean() })),
  layers: z.array(
    z.object({
      name: z.string(),
      ...amount,
      tileSets: z.array(
        z.object({ gridSet: z.string(), format: z.string(), parametersId: z.string().nullable(), ...amount }),
      ),
    }),
  ),
});
export type UsageDocument = z.infer<typeof usageSchema>;

const BAR = 20;
const [FULL, EMPTY] = ['█', '░'];

export const usage: Command = {
  name: 'usage',
  summary: 'show the disk usage of cached tiles',
  flags: [
    { name: 'sets', placeholder: null, help: 'list grid sets, formats and parameters of each layer too' },
    { name: 'json', placeholder: null, help: 'print JSON, for scripts' },
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal) {
    const document = readAnswer(usageSchema, await serverClientFor(flags).get('/api/v1/usage'));
    const text =
      flags.json === undefined ? describeUsage(document, flags.sets !== undefined) : JSON.stringify(document);
    terminal.out(`${text.trimEnd()}\n`);
    return 0;
  },
};

export function describeUsage(document: UsageDocument, withSets: boolean): string {
  const byBytes = <T extends { bytes: number }>(rows: readonly T[]) =>
    [...rows].sort((a, b) => b.bytes - a.bytes);
  const rows = byBytes(document.layers).flatMap((layer) => {
    const row = [layer.name, sizeOf(layer.bytes), countOf(layer.tiles), bar(layer.bytes, document.bytes)];
    const sets = withSets ? byBytes(layer.tileSets) : [];
    return [
      row,
      ...sets.map((set) => [
        `  ${setName(set)}`,
        sizeOf(set.bytes),
        countOf(set.tiles),
        bar(set.bytes, document.bytes),
      ]),
    ];
  });
  const total = ['all layers', sizeOf(document.bytes), countOf(document.tiles), ''];
  return [columns([['LAYER', 'SIZE', 'TILES', 'SHARE'], ...rows, total]), ...facts(document)].join('\n');
}

function facts(document: UsageDocument): string[] {
  const { bytes, quota, sweeping, growthPerDay, fullInDays, evicted, disks } = document;
  const limit = quota.globalQuota.bytes;
  const lines = [
    quota.enabled
      ? `Quota ${bar(bytes, limit)} of ${sizeOf(limit)}`
      : 'No quota is enforced: tilewarden quota set --on',
    sweeping > 0 ? `${sizeOf(sweeping)} of dropped tiles are being freed` : '',
    evicted.pages > 0 ? `${amountOf(evicted.tiles, 'tile')}, ${sizeOf(evicted.bytes)}, evicted so far` : '',
    growthPerDay === null
      ? ''
      : `Growth ${growthPerDay < 0 ? '-' : ''}${sizeOf(Math.abs(growthPerDay))} per day`,
    fullInDays === null ? '' : fullIn(fullInDays),
    ...disks.filter(({ storing }) => !storing).map(noRoom),
  ];
  return lines.filter((line) => line !== '');
}

function fullIn(days: number): string {
  return days === 0 ? 'Full' : `Full in ${amountOf(days, 'day')}`;
}

function noRoom({ store, freePercent }: UsageDocument['disks'][number]): string {
  return `The disk of the store ${store} is full (${freePercent} % free): tiles are not stored`;
}

function setName({
  gridSet,
  format,
  parametersId,
}: UsageDocument['layers'][number]['tileSets'][number]): string {
  return [gridSet, format, parametersId?.slice(0, 8) ?? ''].join(' ').trimEnd();
}

function bar(part: number, whole: number): string {
  const share = whole === 0 ? 0 : part / whole;
  const full = Math.min(BAR, Math.round(share * BAR));
  return `${FULL.repeat(full)}${EMPTY.repeat(BAR - full)} ${Math.round(share * 100)} %`;
}
