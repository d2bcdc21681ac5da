export type Environment = Readonly<Record<string, string | undefined>>;

/** The one place that reads the process's environment. */
export function readEnvironment(): Environment {
  return process.env;
}
