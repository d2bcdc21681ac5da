import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { readEnvironment, readOutboundProxies, readVersion } from '../config/environment.ts';
import { revealSecrets } from '../config/secrets.ts';
import { completeGroups, type Imported, type ReportEntry, WHOLE } from '../import/import-report.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { printPath } from '../lib/value-path.ts';
import { writeSettingsFile } from '../lib/yaml-file.ts';
import {
  CLIENT_FLAGS,
  type Command,
  CommandFailure,
  type FlagValues,
  flag,
  misuse,
  type Terminal,
} from './command.ts';
import { COMPARE_FLAGS, compare } from './compare.ts';
import { plural } from './format.ts';
import { type ServerClient, ServerRefusal, serverClientFor } from './server-client.ts';

/** Parts of an import; grid sets belong to the layers. */
const PARTS = ['layers', 'quota', 'users'];
/** Bytes. */
const PASSWORD_LENGTH = 15;

export const importCommand: Command = {
  name: 'import',
  summary:
    'read layers from a WMS, a WMTS or another program’s configuration, as YAML or into a running server',
  operands: { usage: 'FILE | FOLDER | URL [SEED.yaml]', least: 0, most: 2 },
  flags: [
    flag('layer', 'NAME', 'only this layer of a URL; may be repeated', true),
    flag('output', 'FILE', 'write the YAML to a new file'),
    flag('users', 'FILE', 'GeoWebCache’s users.properties, if not beside its configuration'),
    flag('only', PARTS.join('|'), 'leave out the other parts; may be repeated', true),
    flag('apply', null, 'declare everything in the running server; prints no YAML'),
    flag('replace', null, 'with --apply: replace layers and grid sets of the same name'),
    flag('quiet', null, 'report only what was changed and left out'),
    ...COMPARE_FLAGS,
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal, args) {
    const [source = '', seeds = null] = args.operands;
    if (flags.compare !== undefined) return compare(flags, terminal, source);
    if (flags.requests !== undefined) throw misuse('--requests requires --compare.');
    if (source === '') throw misuse('Name a file, a folder or an address to import, or use --compare.');
    checkFlags(flags);
    const parts = args.repeated.get('only') ?? PARTS;
    const { users = null } = flags;
    const all = await readImported({ source, users, seeds, only: args.repeated.get('layer') ?? null });
    const imported = selectedParts(all, parts);
    terminal.err(reportText(all.report.entries, flags.quiet !== undefined));
    if (imported.layers.length + imported.users.length === 0 && !imported.quota) {
      terminal.err('Nothing was imported.\n');
      return 1;
    }
    return flags.apply === undefined
      ? writeYaml(imported, flags, terminal)
      : apply(imported, flags, terminal);
  },
};

function selectedParts(all: ImportedSettings, parts: readonly string[]): ImportedSettings {
  const strange = parts.find((part) => !PARTS.includes(part));
  if (strange !== undefined) throw misuse(`--only must be one of ${PARTS.join(', ')}, not ${strange}.`);
  const has = (part: string) => parts.includes(part);
  return {
    ...all,
    ...(!has('layers') && {
      layers: [],
      groups: [],
      service: undefined,
      adoptBuckets: {},
      areas: [],
      gridSets: [],
      changes: [],
    }),
    ...(!has('quota') && { quota: null }),
    ...(!has('users') && { users: [] }),
  };
}

function checkFlags({ apply: applies, replace, output }: FlagValues): void {
  if (replace !== undefined && applies === undefined) throw misuse('--replace requires --apply.');
  if (output !== undefined && applies !== undefined) throw misuse('--output and --apply exclude each other.');
  if (output !== undefined && existsSync(output))
    throw misuse(`${output} already exists; choose another file.`);
}

type ImportedSettings = Awaited<ReturnType<typeof readImported>>;

interface ImportOrder {
  readonly source: string;
  /** The file of users, if elsewhere. */
  readonly users?: string | null;
  /** MapProxy's `seed.yaml`, if elsewhere. */
  readonly seeds?: string | null;
  /** Names of layers of an address; null: all. */
  readonly only?: readonly string[] | null;
}

/** The part that a configuration file may contain; the report lists the rest. */
export async function readImported(order: ImportOrder) {
  const { checkImported } = await import('../config/check-imported.ts');
  const imported = await convert(order);
  const { report } = imported;
  const { refused, ...usable } = checkImported(imported);
  for (const { subject, message } of refused) report.about(subject).leftOut(WHOLE, message);
  const groups = completeGroups(imported.groups ?? [], usable.layers, report);
  return { quota: null, users: [], ...imported, ...usable, groups };
}

async function convert({ source, users = null, seeds = null, only = null }: ImportOrder): Promise<Imported> {
  const { importFromAddress, importFromFile } = await import('../import/import-from.ts');
  if (!/^https?:\/\//i.test(source)) {
    if (only) throw misuse('--layer requires the address of a service.');
    return importFromFile(source, users, seeds, readEnvironment());
  }
  if (seeds !== null) throw misuse('SEED.yaml goes only with a mapproxy.yaml.');
  const log = createLogger('error');
  const proxies = readOutboundProxies(readEnvironment());
  const userAgent = `Tilewarden/${readVersion()}`;
  return importFromAddress(source, only, { log, clock: systemClock, proxies, userAgent });
}

function writeYaml(
  { service, adoptBuckets, areas, gridSets, layers, groups, changes, quota, users }: ImportedSettings,
  flags: FlagValues,
  terminal: Terminal,
): number {
  const yaml = writeSettingsFile({
    ...(service && { service }),
    ...(Object.keys(adoptBuckets ?? {}).length > 0 && { adoptBuckets }),
    ...(areas.length > 0 && { areas }),
    ...(gridSets.length > 0 && { gridSets }),
    layers: layers.map(({ updateSources: _, ...layer }) => layer),
    ...(groups.length > 0 && { groups }),
    ...(changes.length > 0 && { changes }),
  });
  if (flags.output === undefined) terminal.out(yaml);
  else writeFileSync(flags.output, yaml, { flag: 'wx', mode: 0o640 });
  const where = flags.output ?? 'standard output';
  terminal.err(
    `Wrote ${plural(layers.length, 'layer')} and ${plural(gridSets.length, 'grid set')} to ${where}.\n`,
  );
  if (quota || users.length > 0) {
    terminal.err(
      'Disk quota and users are not part of a configuration file: run the server, then this with --apply --only quota --only users.\n',
    );
  }
  return 0;
}

async function apply(imported: ImportedSettings, flags: FlagValues, terminal: Terminal): Promise<number> {
  const client = serverClientFor(flags);
  const replace = flags.replace !== undefined;
  for (const part of ['adoptBuckets', 'areas', 'groups', 'service'] as const)
    if (Object.keys(imported[part] ?? {}).length > 0)
      terminal.err(
        `The ${part} ${part === 'service' ? 'metadata ' : ''}are part of the configuration file: add them there, as printed without --apply.\n`,
      );
  let refused = 0;
  const attempt = async (what: string, send: () => Promise<unknown>) => {
    try {
      await send();
      return true;
    } catch (error) {
      if (!(error instanceof ServerRefusal || error instanceof MissingValue)) throw error;
      refused++;
      terminal.err(`${what} was refused: ${error.message}\n`);
      return false;
    }
  };
  for (const [kind, path, documents] of [
    ['Grid set', '/api/v1/gridsets', imported.gridSets],
    ['Layer', '/api/v1/layers', imported.layers],
  ] as const) {
    for (const { schedules: _, ...document } of documents) {
      await attempt(`${kind} ${document.name}`, () => declare(client, path, revealed(document), replace));
    }
  }
  const schedules = imported.layers.flatMap(({ name: layer, schedules: own = [] }) =>
    (own as readonly { readonly name: string }[]).map((schedule) => ({ layer, ...schedule })),
  );
  for (const schedule of schedules)
    await attempt(`Schedule ${schedule.name}`, () => client.post('/api/v1/schedules', schedule));
  if (imported.quota) await attempt('The disk quota', () => client.put('/api/v1/quota', imported.quota));
  for (const { name, role } of imported.users) {
    const password = randomBytes(PASSWORD_LENGTH).toString('base64url');
    const user = { name, role, password, layers: ['*'] };
    const added = await attempt(`User ${name}`, () => client.post('/api/v1/users', user));
    if (added) terminal.out(`${name}  ${role}  ${password}\n`);
  }
  const lists = [imported.gridSets, imported.layers, schedules, imported.users];
  const all = lists.reduce((sum, list) => sum + list.length, imported.quota ? 1 : 0);
  terminal.err(`Applied ${all - refused} of ${all} to ${client.server}.\n`);
  return refused === 0 ? 0 : 1;
}

class MissingValue extends CommandFailure {}

/** A running server takes values, not the names of variables; they are read where this command runs. */
function revealed(document: { readonly name: string }): { readonly name: string } {
  const { tree, problems } = revealSecrets(document, readEnvironment(), '');
  const [problem] = problems;
  if (problem) throw new MissingValue(`${printPath(problem.path)} ${problem.message}.`);
  return tree as { readonly name: string };
}

function declare(
  client: ServerClient,
  path: string,
  document: { readonly name: string },
  replace: boolean,
): Promise<unknown> {
  return replace
    ? client.put(`${path}/${encodeURIComponent(document.name)}`, document)
    : client.post(path, document);
}

/** A line for each fate of an element, with all its subjects. */
function reportText(entries: readonly ReportEntry[], quiet: boolean): string {
  const fates: readonly ReportEntry['fate'][] = quiet
    ? ['changed', 'left out']
    : ['taken', 'changed', 'left out'];
  return fates.flatMap((fate) => linesOf(entries.filter((entry) => entry.fate === fate))).join('');
}

function linesOf(entries: readonly ReportEntry[]): readonly string[] {
  const alike = new Map<string, { entry: ReportEntry; subjects: Set<string> }>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.element, entry.what]);
    const known = alike.get(key) ?? { entry, subjects: new Set<string>() };
    known.subjects.add(entry.subject);
    alike.set(key, known);
  }
  return [...alike.values()].map(({ entry, subjects }) => reportLine(entry, [...subjects]));
}

function reportLine({ fate, element, what }: ReportEntry, subjects: readonly string[]): string {
  const names = subjects.join(', ');
  const subject = element === WHOLE ? `${names} (entirely)` : `${element} of ${names}`;
  return `${fate.padEnd(8)}  ${subject}${what === '' ? '' : `: ${what}`}\n`;
}
