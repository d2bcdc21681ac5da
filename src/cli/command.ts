export interface Flag {
  readonly name: string;
  /** What stands for the value in the help; null for a flag that has none. */
  readonly placeholder: string | null;
  readonly help: string;
}

export interface Terminal {
  /** Standard output: what the command was asked for. */
  out(text: string): void;
  /** Standard error: everything that is said about it. */
  err(text: string): void;
}

export type FlagValues = Readonly<Record<string, string | undefined>>;

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** Resolves with the exit code. */
  run(flags: FlagValues, terminal: Terminal): Promise<number>;
}
