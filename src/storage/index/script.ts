import type { IndexFile } from './index-file.ts';

/** A statement, or a part of one, in the SQL that SQLite and PostgreSQL share. */
export interface Statement {
  /** SQL with a `?` for each value. */
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Work on an index for both databases: it yields statements and receives their rows. SQLite runs it synchronously,
 * PostgreSQL asynchronously.
 */
export type Script<Row, Result> = Generator<Statement, Result, readonly Row[]>;

/** Statements among the values are inserted as parts. */
export function statement(texts: TemplateStringsArray, ...values: readonly unknown[]): Statement {
  const parts = values.map(statementPart);
  return {
    text: texts.reduce((text, next, at) => `${text}${parts[at - 1]?.text}${next}`),
    values: parts.flatMap((part) => part.values),
  };
}

/** SQL without values. */
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

/** Runs scripts. Prepared statements are kept, so scripts must have few different ones. */
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
