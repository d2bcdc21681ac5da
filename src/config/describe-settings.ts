import { dump } from 'js-yaml';
import type { LoadedSettings } from './load-settings.ts';

/** The effective settings as a configuration file would have them, secrets masked. */
export function describeSettings({ shown, configFile }: LoadedSettings): string {
  const from = configFile ? `# from ${configFile}` : '# no configuration file; these are the defaults';
  return `${from}\n${dump(shown, { lineWidth: 110, noRefs: true })}`;
}
