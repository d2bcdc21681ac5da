import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { dump } from 'js-yaml';
import { errorCode } from '../lib/error-code.ts';
import { type Explanation, explainIssues } from '../lib/explain-issue.ts';
import { isRecord, printPath, type ValuePath } from '../lib/value-path.ts';
import { parseYamlFile, type YamlFile } from '../lib/yaml-file.ts';
import { shownProxies } from '../sources/upstream/outbound-proxy.ts';
import { withShapes } from './area-shapes.ts';
import { checkSettings, furtherProblems } from './check-settings.ts';
import { DEFAULT_CONFIG_NAME, readOutboundProxies, type SettingsInput } from './environment.ts';
import { createSettingsSchema } from './json-schema.ts';
import { maskSecrets, type RevealedTree, revealSecrets } from './secrets.ts';
import { CONFIG_FILE, SETTING_OVERRIDES, type SettingOverride, variableOf } from './setting-overrides.ts';
import { SettingsError } from './settings-error.ts';
import { completeSettings, type SettingsHandover } from './settings-handover.ts';
import { type Settings, type SettingsDocument, settingsSchema } from './settings-schema.ts';

/** Settings as plain data, for another process or thread. */
export interface ReadSettings {
  /** Without the first administrator's password. */
  readonly handover: SettingsHandover;
  /** Null when there is no configuration file. */
  readonly configFile: string | null;
}

export interface UsedSettings extends ReadSettings {
  readonly settings: Settings;
}

/** The settings in use of a process that reads the configuration file again while it runs. */
export interface SettingsFile {
  readonly input: SettingsInput;
  current: UsedSettings;
}

export interface LoadedSettings extends UsedSettings {
  /** The file's own form with every default filled in and every secret masked. */
  readonly shown: unknown;
  /** Warnings about usable settings, one line each. */
  readonly warnings: readonly string[];
}

interface GivenOverride {
  readonly override: SettingOverride;
  readonly value: string | number | boolean;
  /** Name in messages, e.g. `--port` or `TILEWARDEN_PORT`. */
  readonly origin: string;
}

export const WORDS = { key: 'a setting', object: 'a map', nothing: 'nothing' };
const DEFAULT_DATA = 'data';
const MAX_CONFIG_BYTES = 64 * 2 ** 20;

/** In falling precedence: flags, environment, file, defaults. Throws `SettingsError` with all problems. */
export async function loadSettings(input: SettingsInput): Promise<LoadedSettings> {
  const overrides = givenOverrides(input);
  const configFile = findConfigFile(input, overrides);
  const file = readConfigFile(configFile);
  if (file && file.problems.length > 0) throw new SettingsError(file.problems);
  const merged = overrides.reduce<unknown>(
    (tree, { override, value }) => withValueAt(tree, override.path, value),
    file?.value ?? {},
  );
  const folder = configFile ? dirname(configFile) : input.workingFolder;
  const revealed = revealSecrets(merged, input.environment, folder);
  const locate = createLocator(file, overrides);
  const checked = checkDocument(revealed, folder, locate);
  const { areas, problems: ofAreas } = withShapes(checked.areas, folder);
  if (ofAreas.length > 0) throw new SettingsError(ofAreas.map(locate));
  const document = { ...checked, areas: [...areas] };
  const { settings, problems, warnings } = checkSettings(document);
  if (problems.length > 0) throw new SettingsError(problems.map(locate));
  const dataIsFromFile = file !== null && !overrides.some(({ override }) => override.flag === 'data');
  const data = resolve(dataIsFromFile ? folder : input.workingFolder, document.data);
  const proxies = readOutboundProxies(input.environment);
  const handover = { document, folder, data, proxies };
  const complete = completeSettings(settings, handover);
  return {
    settings: { ...complete, access: { ...complete.access, adminPassword: readAdminPassword(input) } },
    handover,
    configFile,
    warnings: warnings.map(locate),
    get shown() {
      return maskSecrets({ ...checked, data }, revealed.secretPaths);
    },
  };
}

function givenOverrides({ flags, environment, workingFolder }: SettingsInput): readonly GivenOverride[] {
  return SETTING_OVERRIDES.flatMap((override) => {
    const flag = flags[override.flag];
    const variable = environment[variableOf(override)] || undefined;
    const value = flag ?? variable;
    if (value === undefined) return [];
    const text = override.isPath ? resolve(workingFolder, value) : value;
    const origin = flag !== undefined ? `--${override.flag}` : variableOf(override);
    return [{ override, value: givenValue(override, text), origin }];
  });
}

/** Text that is not a number or a yes stays text, so that the check reports it. */
function givenValue({ numeric, turnsOff }: SettingOverride, text: string): string | number | boolean {
  if (numeric && /^\d+$/.test(text)) return Number(text);
  if (turnsOff && /^(true|1|yes|false|0|no)$/i.test(text)) return !/^(true|1|yes)$/i.test(text);
  return text;
}

function findConfigFile(
  { flags, environment, workingFolder }: SettingsInput,
  overrides: readonly GivenOverride[],
): string | null {
  const flag = flags[CONFIG_FILE.flag];
  const named = flag ?? (environment[variableOf(CONFIG_FILE)] || undefined);
  if (named !== undefined) {
    const path = resolve(workingFolder, named);
    if (existsSync(path)) return path;
    const origin = flag !== undefined ? `--${CONFIG_FILE.flag}` : variableOf(CONFIG_FILE);
    throw new SettingsError([`${origin}  there is no file ${named}`]);
  }
  const data = overrides.find(({ override }) => override.flag === 'data')?.value ?? DEFAULT_DATA;
  const besideData = join(dirname(resolve(workingFolder, String(data))), DEFAULT_CONFIG_NAME);
  return existsSync(besideData) ? besideData : null;
}

function readConfigFile(path: string | null): YamlFile | null {
  if (path === null) return null;
  const name = basename(path);
  const text = readText(path, `${name} `);
  const file = parseYamlFile(name, text);
  if (file.problems.length > 0 || isRecord(file.value)) return file;
  throw new SettingsError([`${name}:1:1  must be a map of settings such as "server:" and "layers:"`]);
}

function readText(path: string, subject: string): string {
  try {
    const text = readFileSync(path, 'utf8');
    if (text.length <= MAX_CONFIG_BYTES) return text;
  } catch (error) {
    const why = errorCode(error) ?? String(error);
    throw new SettingsError([`${subject} cannot be read (${why})`]);
  }
  throw new SettingsError([`${subject} is larger than ${MAX_CONFIG_BYTES} bytes`]);
}

function withValueAt(tree: unknown, path: ValuePath, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  // Anything but a map stays, so that the check reports it.
  if (tree !== undefined && tree !== null && !isRecord(tree)) return tree;
  return { ...tree, [step]: withValueAt(tree?.[step], rest, value) };
}

function issuePath({ path, key }: Explanation): ValuePath {
  return key === undefined ? path : [...path, key];
}

type Locate = (explanation: Explanation) => string;

/** Puts the place in front of a problem: a line of the file, a flag or a variable. */
function createLocator(file: YamlFile | null, overrides: readonly GivenOverride[]): Locate {
  return (explanation) => {
    const { path, key, message } = explanation;
    const printed = printPath(issuePath(explanation));
    const entry = overrides.find(({ override }) => printPath(override.path) === printed);
    if (entry) return `${entry.origin}  ${message}`;
    if (!file) return `${printed}  ${message}`;
    const place = key === undefined ? file.placeOf(path) : file.placeOfKey(path, key);
    return `${place}  ${printed} ${message}`;
  };
}

function checkDocument(revealed: RevealedTree, folder: string, locate: Locate): SettingsDocument {
  const result = settingsSchema.safeParse(revealed.tree);
  const visible = () => maskSecrets(revealed.tree, revealed.secretPaths);
  const issues = result.success
    ? []
    : explainIssues(result.error.issues, visible(), createSettingsSchema, WORDS, Infinity);
  const missing = new Set(revealed.problems.map(({ path }) => printPath(path)));
  const others = issues.filter(({ path }) => !missing.has(printPath(path)));
  const problems = [...revealed.problems, ...others];
  if (result.success && problems.length === 0) return result.data;
  const further = furtherProblems(revealed.tree, problems.map(issuePath), folder);
  throw new SettingsError([...problems, ...further].map(locate));
}

/** Entries of a list that are shown by default. */
const SHOWN_ENTRIES = 10;

/** The effective settings as a configuration file would have them, secrets masked; `all`: long lists are not cut. */
export function describeSettings({ shown, configFile, settings }: LoadedSettings, all = true): string {
  const from = configFile ? `# from ${configFile}` : '# no configuration file; these are the defaults';
  const proxies = Object.entries(shownProxies(settings.proxies))
    .filter(([, proxy]) => proxy !== null)
    .map(([protocol, proxy]) => `# ${protocol} addresses through the proxy ${proxy}\n`);
  const { listed, notes } = all ? { listed: shown, notes: [] } : shortLists(shown);
  return [`${from}\n`, ...proxies, dump(listed, { lineWidth: 110, noRefs: true }), ...notes].join('');
}

function shortLists(shown: unknown) {
  const notes: string[] = [];
  const listed = Object.entries(isRecord(shown) ? shown : {}).map(([name, value]) => {
    if (!Array.isArray(value) || value.length <= SHOWN_ENTRIES) return [name, value];
    notes.push(`# ${name}: the first ${SHOWN_ENTRIES} of ${value.length}; --all prints them all\n`);
    return [name, value.slice(0, SHOWN_ENTRIES)];
  });
  return { listed: Object.fromEntries(listed), notes };
}

const VARIABLE = 'TILEWARDEN_ADMIN_PASSWORD';
const FILE_VARIABLE = 'TILEWARDEN_ADMIN_PASSWORD_FILE';

/** The first administrator's password; null when none is given. Not a flag: all users of the machine can see flags. */
function readAdminPassword({ environment, workingFolder }: SettingsInput): string | null {
  const password = environment[VARIABLE] || null;
  const file = environment[FILE_VARIABLE] || null;
  if (password !== null && file !== null) {
    throw new SettingsError([`${FILE_VARIABLE}  cannot be given together with ${VARIABLE}`]);
  }
  return file === null ? password : readPasswordFile(resolve(workingFolder, file));
}

function readPasswordFile(path: string): string {
  const text = readText(path, `${FILE_VARIABLE}  the file`).replace(/\r?\n$/, '');
  if (text !== '' && !text.includes('\n')) return text;
  throw new SettingsError([`${FILE_VARIABLE}  the file must hold the password on one line`]);
}

/** Settings of another process, for one that answers requests: with schedules, unlike `settingsFrom`. */
export function servingSettingsFrom(handover: SettingsHandover): Settings {
  return completeSettings(checkSettings(handover.document).settings, handover);
}

/** Settings that take effect while the server runs; others need a restart. */
const LIVE: ReadonlySet<string> = new Set(['areas', 'groups', 'layers', 'gridSets', 'upstreams', 'service']);

/** The new settings that apply without a restart, and the names of those that need one. Throws `SettingsError`. */
export function withoutRestart(
  current: UsedSettings,
  { handover: next, configFile }: ReadSettings,
): { readonly used: UsedSettings; readonly restart: readonly string[] } {
  const [old, fresh] = [current.handover.document, next.document];
  const names = Object.keys(fresh) as (keyof SettingsDocument)[];
  const restart = names.filter(
    (name) => !LIVE.has(name) && JSON.stringify(old[name]) !== JSON.stringify(fresh[name]),
  );
  const { areas, groups, layers, gridSets, upstreams, service } = fresh;
  const document = { ...old, areas, groups, layers, gridSets, upstreams, service };
  const handover = restart.length === 0 ? next : { ...current.handover, document };
  const { settings, problems } = checkSettings(handover.document);
  if (problems.length > 0) {
    const explained = problems.map(({ path, message }) => `${printPath(path)} ${message}`);
    throw new SettingsError([
      ...explained,
      `Changes of ${restart.join(', ')} take effect with a restart only`,
    ]);
  }
  return { used: { settings: completeSettings(settings, handover), handover, configFile }, restart };
}
