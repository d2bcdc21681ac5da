export const MUTANTS: readonly {
  readonly file: string;
  readonly line: string;
  readonly fault: string;
  readonly tests: readonly string[];
}[];
