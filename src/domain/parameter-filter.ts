/** Decides which values of one request parameter make a tile set of their own. */
export interface ParameterFilter {
  /** Upper case. */
  readonly name: string;
  readonly defaultValue: string;
  /** The values that may be asked for, when they can be listed. */
  readonly values: readonly string[] | null;
  /** What a value stands for: normalised, or the nearest allowed. Throws `parameter-refused`. */
  apply(value: string): string;
}

/** One combination of parameter values, complete with defaults. */
export interface ParameterSelection {
  /** Null when every value is its default. */
  readonly id: string | null;
  readonly values: ReadonlyMap<string, string>;
}
