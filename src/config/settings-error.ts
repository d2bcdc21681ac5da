import { TilewardenError } from '../domain/errors.ts';

/** All problems of the settings, one line each, ready for a terminal. */
export class SettingsError extends TilewardenError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('config-invalid', problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}
