import { CONFIG_FILE, SETTING_OVERRIDES } from '../config/setting-overrides.ts';
import type { Flag } from './command.ts';

/** The settings that can be given on the command line. */
export const SETTING_FLAGS: readonly Flag[] = [CONFIG_FILE, ...SETTING_OVERRIDES].map(
  ({ flag, placeholder, help, variable }) => ({
    name: flag,
    placeholder,
    help: `${help}; or ${variable}`,
  }),
);
