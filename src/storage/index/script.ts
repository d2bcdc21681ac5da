import type { IndexFile } from './index-file.ts';

/** A statement, or a part of one, in the common language of SQLite and PostgreSQL. */
export interface Statement {
  /** With a `?` for each value. */
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Work on an index that is the same in both databases: it yields statements and receives their rows. SQLite runs it
 * synchronously, PostgreSQL one statement at a time.
 */
export type Script<Row, Result> = Generator<Statement, Result, readonly Row[]>;

/** Statements among the values are parts of this one. */
export function statement(texts: TemplateStringsArray, ...values: readonly unknown[]): Statement {
  const parts = values.map(statementPart);
  return {
    text: texts.reduce((text, next, at) => `${text}${parts[at - 1]?.text}${next}`),
    values: parts.flatMap((part) => part.values),
  };
}

/** Without values. */
export function words(text: string): Statement {
  return { text, values: [] };
}

export function joined(values: readonly unknown[], by = ', '): Statement {
  const parts = values.map(statementPart);
  return { text: parts.map(({ text }) => text).join(by), values: parts.flatMap((part) => part.values) };
}

function statementPart(value: unknown): Statement {
  const isPart = typeof value === 'object' && value !== null && 'text' in value;
  return isPart ? (value as Statement) : { text: '?', values: [value] };
}

/** Runs scripts of few different statements, which are prepared once. */
export function prepareScripts(db: IndexFile) {
  const prepared = new Map<string, ReturnType<typeof prepare>>();
  const prepare = (text: string) => db.prepare<unknown[]>(text);
  return <Row, Result>(script: Script<Row, Result>): Result => {
    for (let step = script.next(); ; ) {
      if (step.done) return step.value;
      const { text, values } = step.value;
      const known = prepared.get(text) ?? prepare(text);
      prepared.set(text, known);
      if (known.reader) step = script.next(known.all(...values) as Row[]);
      else {
        known.run(...values);
        step = script.next([]);
      }
    }
  };
}
