import { readEnvironment } from '../config/environment.ts';
import { describeSettings, loadSettings } from '../config/load-settings.ts';
import { type Command, SETTING_FLAGS } from './command.ts';

export const checkConfig: Command = {
  name: 'check-config',
  summary: 'check the settings and print what is in effect, secrets masked',
  flags: SETTING_FLAGS,
  async run(flags, terminal) {
    const loaded = loadSettings({ flags, environment: readEnvironment(), workingFolder: process.cwd() });
    terminal.out(describeSettings(loaded));
    return 0;
  },
};
