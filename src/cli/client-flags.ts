import { CLIENT_OVERRIDES } from '../config/client-settings.ts';
import type { Flag } from './command.ts';

/** How a command that speaks to a running server is told where it is. */
export const CLIENT_FLAGS: readonly Flag[] = CLIENT_OVERRIDES.map(
  ({ flag, placeholder, help, variable }) => ({
    name: flag,
    placeholder,
    help: `${help}; or ${variable}`,
  }),
);
