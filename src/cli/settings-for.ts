import { readEnvironment } from '../config/environment.ts';
import { type LoadedSettings, loadSettings } from '../config/load-settings.ts';
import type { FlagValues } from './command.ts';

/** Commands load this when they run: reading settings takes more processor time than all else that a start loads. */
export function settingsFor(
  flags: FlagValues,
  workingFolder = process.cwd(),
  measure?: Parameters<typeof loadSettings>[1],
): Promise<LoadedSettings> {
  return loadSettings({ flags, environment: readEnvironment(), workingFolder }, measure);
}
