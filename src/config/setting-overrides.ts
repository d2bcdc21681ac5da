/** Settings that a flag or an environment variable can give, and where they stand in the file. */
export interface SettingOverride {
  readonly flag: string;
  readonly path: readonly string[];
  /** Null: the flag takes no value. */
  readonly placeholder: string | null;
  readonly help: string;
  readonly numeric?: true;
  /** Giving it means false. */
  readonly turnsOff?: true;
}

/** The environment variable that says the same, e.g. `TILEWARDEN_LOG_LEVEL`. */
export function variableOf({ flag }: { readonly flag: string }): string {
  return `TILEWARDEN_${flag.toUpperCase().replaceAll('-', '_')}`;
}

export const SETTING_OVERRIDES: readonly SettingOverride[] = [
  {
    flag: 'host',
    path: ['server', 'host'],
    placeholder: 'ADDRESS',
    help: 'address to listen on (127.0.0.1)',
  },
  {
    flag: 'port',
    path: ['server', 'port'],
    placeholder: 'PORT',
    help: 'port to listen on, 0 picks a free one (8080)',
    numeric: true,
  },
  {
    flag: 'processes',
    path: ['server', 'processes'],
    placeholder: 'N',
    help: 'processes that answer HTTP on the one port (1)',
    numeric: true,
  },
  { flag: 'data', path: ['data'], placeholder: 'FOLDER', help: 'where tiles and state are kept (./data)' },
  {
    flag: 'database',
    path: ['database'],
    placeholder: 'URL',
    help: 'postgres:// URL (SQLite in the data folder)',
  },
  {
    flag: 'node',
    path: ['node'],
    placeholder: 'NAME',
    help: 'name of this node among those that share the database (host name and port)',
  },
  {
    flag: 'no-auth',
    path: ['access', 'enabled'],
    placeholder: null,
    help: 'let everybody on this machine do everything; only where no other machine can connect',
    turnsOff: true,
  },
  {
    flag: 'memory-tier',
    path: ['memoryTier', 'size'],
    placeholder: 'SIZE',
    help: 'memory for tiles in front of the stores, e.g. 256 MiB (64 MiB)',
  },
  {
    flag: 'log-level',
    path: ['log', 'level'],
    placeholder: 'LEVEL',
    help: 'debug, info, warn, error or silent (info)',
  },
];

export const CONFIG_FILE = {
  flag: 'config',
  placeholder: 'FILE',
  help: 'configuration file (tilewarden.yaml beside the data folder, if present)',
} as const;
