import { isRecord } from '../lib/value-path.ts';
import type { Table } from './tracked-table.ts';

/** MapProxy replaces both forms by a variable of its environment. Addresses may have braces in code. */
const VARIABLE = /\$(?:\{|%7B)\w+(?:\}|%7D)|\$[A-Za-z_]\w*/i;
const WHOLE_VARIABLE = /^\$(?:\{(\w+)\}|([A-Za-z_]\w*))$/;

/** Why a text with variables inside it cannot be used; null: it has none. */
export function variableProblem(text: string): string | null {
  const variable = VARIABLE.exec(text)?.[0].replace(/%7B/i, '{').replace(/%7D/i, '}');
  return variable === undefined
    ? null
    : `has the variable ${variable} inside a text: write its value instead`;
}

/** Texts that are all a variable become `{ env: NAME }`, at any level. */
export function withVariables(table: Table, report: (name: string) => void): Table {
  const entries = Object.entries(table).map(([key, value]) => {
    if (isRecord(value)) return [key, withVariables(value, report)];
    const [, braced, plain] = (typeof value === 'string' && WHOLE_VARIABLE.exec(value)) || [];
    const name = braced ?? plain;
    if (name === undefined) return [key, value];
    report(name);
    return [key, { env: name }];
  });
  return Object.fromEntries(entries);
}
