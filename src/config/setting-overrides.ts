/** Settings that a flag or an environment variable can set, with their paths in the file. */
export interface SettingOverride {
  readonly flag: string;
  readonly path: readonly string[];
  /** Null: the flag takes no value. */
  readonly placeholder: string | null;
  readonly help: string;
  readonly numeric?: true;
  /** Giving it means false. */
  readonly turnsOff?: true;
  /** Relative to the working folder. */
  readonly isPath?: true;
}

/** The equivalent environment variable, e.g. `TILEWARDEN_LOG_LEVEL`. */
export function variableOf({ flag }: { readonly flag: string }): string {
  return `TILEWARDEN_${flag.toUpperCase().replaceAll('-', '_')}`;
}

/** `path` with dots between its steps. */
function override(
  flag: string,
  path: string,
  placeholder: string | null,
  help: string,
  how: Pick<SettingOverride, 'numeric' | 'turnsOff' | 'isPath'> = {},
): SettingOverride {
  return { flag, path: path.split('.'), placeholder, help, ...how };
}

export const SETTING_OVERRIDES: readonly SettingOverride[] = [
  override('host', 'server.host', 'ADDRESS', 'address to listen on (127.0.0.1)'),
  override('port', 'server.port', 'PORT', 'port to listen on, 0 picks a free one (8080)', { numeric: true }),
  override('processes', 'server.processes', 'N', 'processes that answer HTTP on the one port, or auto (1)', {
    numeric: true,
  }),
  override('data', 'data', 'FOLDER', 'where tiles and state are kept (./data)'),
  override('database', 'database', 'URL', 'postgres:// URL (SQLite in the data folder)'),
  override(
    'node',
    'node',
    'NAME',
    'name of this node among those that share the database (host name and port)',
  ),
  override(
    'no-auth',
    'access.enabled',
    null,
    'no accounts: every user of this machine may do everything; only on a loopback address',
    { turnsOff: true },
  ),
  override(
    'memory-tier',
    'memoryTier.size',
    'SIZE',
    'memory for tiles in front of the stores, e.g. 256 MiB (64 MiB)',
  ),
  override('access-log', 'server.accessLog.file', 'FILE', 'file for a line about every request (none)', {
    isPath: true,
  }),
  override('log-level', 'log.level', 'LEVEL', 'debug, info, warn, error or silent (info)'),
];

export const CONFIG_FILE = {
  flag: 'config',
  placeholder: 'FILE',
  help: 'configuration file (tilewarden.yaml beside the data folder, if present)',
} as const;
