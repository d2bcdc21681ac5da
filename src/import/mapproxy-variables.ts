import { isRecord } from '../lib/value-path.ts';
import type { Table } from './tracked-table.ts';

/** MapProxy replaces both forms by a variable of its environment. Braces in addresses may be percent-encoded. */
const VARIABLE = /\$(?:\{|%7B)\w+(?:\}|%7D)|\$[A-Za-z_]\w*/i;
const WHOLE_VARIABLE = /^\$(?:\{(\w+)\}|([A-Za-z_]\w*))$/;

const INNER_VARIABLE = /\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g;
export type Variables = Readonly<Record<string, string | undefined>>;

const LOGIN = /^(https?:\/\/[^/@]*@)?(.*)$/is;

/** Fields that contain no secrets. */
const PLAIN = ['layers', 'styles'];

/** Replaces variables inside texts by their values. Those of a login, or that are a whole text, may be secrets and stay. */
export function withValues(
  value: unknown,
  environment: Variables,
  report: (name: string) => void,
  isPlain = false,
): unknown {
  if (Array.isArray(value)) return value.map((one) => withValues(one, environment, report, isPlain));
  if (isRecord(value)) {
    const entryOf = ([key, one]: [string, unknown]) =>
      [key, withValues(one, environment, report, PLAIN.includes(key))] as const;
    return Object.fromEntries(Object.entries(value).map(entryOf));
  }
  if (typeof value !== 'string' || (WHOLE_VARIABLE.test(value) && !isPlain)) return value;
  const [, login = '', rest = ''] = LOGIN.exec(value) ?? [];
  const replaced = rest.replace(INNER_VARIABLE, (whole, braced?: string, plain?: string) => {
    const name = braced ?? plain ?? '';
    if (environment[name] !== undefined) report(name);
    return environment[name] ?? whole;
  });
  return login + replaced;
}

/** Why a text with variables inside it cannot be used; null: it has none. */
export function variableProblem(text: string): string | null {
  const variable = VARIABLE.exec(text)?.[0].replace(/%7B/i, '{').replace(/%7D/i, '}');
  return variable === undefined
    ? null
    : `has the variable ${variable} inside a text: set it for the import, or write its value instead`;
}

/** Texts that consist of a variable become `{ env: NAME }`, at any level. */
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
