import { readFileSync } from 'node:fs';

/** Of the configuration file beside the data folder. */
export const DEFAULT_CONFIG_NAME = 'tilewarden.yaml';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The one place that reads the process's environment. */
export function readEnvironment(): Environment {
  return process.env;
}

export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}
