import { stringify } from 'yaml';
import type { LoadedSettings } from './load-settings.ts';

/** The effective settings as a configuration file would have them, secrets masked. */
export function describeSettings({ shown, configFile }: LoadedSettings): string {
  const from = configFile ? `# from ${configFile}` : '# no configuration file; these are the defaults';
  return `${from}\n${stringify(shown, { lineWidth: 110, aliasDuplicateObjects: false })}`;
}
