import { readFileSync } from 'node:fs';
import { misconfigured } from '../domain/errors.ts';
import { isRecord } from '../lib/value-path.ts';
import type { OutboundProxies } from '../sources/upstream/outbound-proxy.ts';

/** Name of the configuration file beside the data folder. */
export const DEFAULT_CONFIG_NAME = 'tilewarden.yaml';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What settings are read from. */
export interface SettingsInput {
  /** By name without dashes, e.g. `log-level`. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Environment;
  readonly workingFolder: string;
}

/** The one place that reads the process's environment. */
export function readEnvironment(): Environment {
  return process.env;
}

export function settingsInput(flags: SettingsInput['flags'], workingFolder = process.cwd()): SettingsInput {
  return { flags, environment: readEnvironment(), workingFolder };
}

export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return isRecord(manifest) && 'version' in manifest ? String(manifest.version) : 'unknown';
}

/** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, the lower-case names first as in other programs. */
export function readOutboundProxies(environment: Environment): OutboundProxies {
  const variable = (name: string) => environment[name.toLowerCase()] || environment[name] || null;
  const proxy = (name: string): string | null => {
    const value = variable(name);
    if (value === null) return null;
    const address = value.includes('://') ? value : `http://${value}`;
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url && /^https?:$/.test(url.protocol) && url.hostname) return address;
    throw misconfigured(`${name}  must be the address of a proxy such as http://proxy.example.org:3128`);
  };
  return {
    http: proxy('HTTP_PROXY'),
    https: proxy('HTTPS_PROXY'),
    except: variable('NO_PROXY') ?? '',
  };
}
