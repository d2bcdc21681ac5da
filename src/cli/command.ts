export interface Flag {
  readonly name: string;
  /** What stands for the value in the help; null for a flag that has none. */
  readonly placeholder: string | null;
  readonly help: string;
  /** May be given more than once. */
  readonly repeatable?: true;
}

/** What stands on the line beside the flags, e.g. the name of a layer. */
export interface Operands {
  /** As the help shows them, e.g. `LAYER`. */
  readonly usage: string;
  readonly least: number;
  readonly most: number;
}

export interface Terminal {
  /** Standard output: what the command was asked for. */
  out(text: string): void;
  /** Standard error: everything that is said about it. */
  err(text: string): void;
  /** How wide standard error is; null or absent when nobody is looking at it. */
  readonly columns?: number | null;
}

export type FlagValues = Readonly<Record<string, string | undefined>>;

/** What a command was given beside flags with one value. */
export interface Given {
  readonly operands: readonly string[];
  /** Every value of the repeatable flags, in order. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** None when absent. */
  readonly operands?: Operands;
  readonly flags: readonly Flag[];
  /** Resolves with the exit code. Throws `CommandFailure` with what to tell the user. */
  run(flags: FlagValues, terminal: Terminal, given: Given): Promise<number>;
}
