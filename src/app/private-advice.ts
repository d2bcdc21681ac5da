import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DEFAULT_CONFIG_NAME } from '../config/environment.ts';
import type { SettingsFile } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';

/** Where the configuration file is, or is looked for when the server starts. */
export function configPathOf({ data }: Settings, file: SettingsFile | undefined): string {
  return file?.current.configFile ?? join(dirname(data), DEFAULT_CONFIG_NAME);
}

/** For administrators: how to allow a host in a private network, with the line for the configuration file. */
export function createPrivateAdvice(configPath: () => string): (host: string) => string {
  return (host) => {
    const path = configPath();
    const place = existsSync(path) ? path : `${path} (the file does not exist yet)`;
    const line = `upstreams: { '${host}': { allowPrivate: true } }`;
    return `${host} is a private address. Allow it in ${place}, then reload the configuration file: ${line}`;
  };
}
