import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'rolldown/utils';

/** @type {import('node:module').LoadHookSync} */
export function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const { code, errors } = transformSync(path, readFileSync(path, 'utf8'), { lang: 'ts', tsconfig: false });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0].message}`);
  return { format: 'module', source: code, shortCircuit: true };
}
