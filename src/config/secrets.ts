import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCode } from '../lib/error-code.ts';
import { hideSecrets, isSecretName } from '../lib/hide-secrets.ts';
import { isRecord, printPath, type ValuePath } from '../lib/value-path.ts';
import type { Environment } from './environment.ts';

export const MASK = '********';

export interface RevealedTree {
  readonly tree: unknown;
  /** Paths, as `printPath` writes them, of values that came from variables and files. They are not shown. */
  readonly secretPaths: ReadonlySet<string>;
  readonly problems: readonly { readonly path: ValuePath; readonly message: string }[];
}

/** Sections where a `key` is a secret; in `server.tls`, for one, it names a file. */
const ACCOUNTS = ['stores', 'adoptBuckets', 'upstreams'];

/** Whether the value at this path is never shown. */
export function isSecretPath(path: ValuePath): boolean {
  return (
    path.some((step) => isSecretKey(String(step))) ||
    (path.at(-1) === 'key' && path.some((step) => ACCOUNTS.includes(String(step))))
  );
}

/** Keys whose values are never shown, at any level. All headers count: any of them may be a credential. */
function isSecretKey(key: string): boolean {
  return /^(password|secret|clientSecret|token|headers|keys|authorization|accessKeyId|secretAccessKey|sessionToken|connectionString)$/i.test(
    key,
  );
}

/** Replaces `{ env: NAME }` and `{ file: path }` by their values. Paths are relative to `folder`. */
export function revealSecrets(tree: unknown, environment: Environment, folder: string): RevealedTree {
  const secretPaths = new Set<string>();
  const problems: { path: ValuePath; message: string }[] = [];

  function reveal(value: unknown, path: ValuePath): unknown {
    if (Array.isArray(value)) return value.map((item, index) => reveal(item, [...path, index]));
    if (!isRecord(value)) return value;
    // `{ file: … }` there names a file to write, and is no reference.
    const reference = printPath(path) === 'server.accessLog' ? null : referenceOf(value);
    if (!reference) {
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, reveal(item, [...path, key])]),
      );
    }
    secretPaths.add(printPath(path));
    return reference.kind === 'env' ? fromEnvironment(reference.name, path) : fromFile(reference.name, path);
  }

  function fromEnvironment(name: string, path: ValuePath): string {
    const value = environment[name];
    if (value !== undefined) return value;
    problems.push({ path, message: `refers to the environment variable ${name}, which is not set` });
    return '';
  }

  function fromFile(name: string, path: ValuePath): string {
    try {
      return readFileSync(resolve(folder, name), 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      const message = `refers to the file ${name}, which cannot be read (${errorCode(error)})`;
      problems.push({ path, message });
      return '';
    }
  }

  return { tree: reveal(tree, []), secretPaths, problems };
}

export function referenceOf(value: Record<string, unknown>) {
  const [first, ...others] = Object.entries(value);
  if (!first || others.length > 0) return null;
  const [kind, name] = first;
  return (kind === 'env' || kind === 'file') && typeof name === 'string' ? { kind, name } : null;
}

/** Parameters whose names a map server's operator has chosen, e.g. `vendorParameters.authkey`. */
function isSecretOption(key: string, path: ValuePath): boolean {
  return (path.at(-1) === 'vendorParameters' || path.at(-1) === 'dimensions') && isSecretName(key);
}

/** The tree as it may be printed: no password, header value, or key or credentials inside a URL. */
export function maskSecrets(tree: unknown, secretPaths: ReadonlySet<string>): unknown {
  function mask(value: unknown, path: ValuePath, hidden: boolean): unknown {
    if (Array.isArray(value)) return value.map((item, index) => mask(item, [...path, index], hidden));
    if (isRecord(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          mask(item, [...path, key], hidden || isSecretPath([...path, key]) || isSecretOption(key, path)),
        ]),
      );
    }
    if (value === null || value === undefined) return value;
    if (hidden || (secretPaths.size > 0 && secretPaths.has(printPath(path)))) return MASK;
    return typeof value === 'string' ? hideSecrets(value, MASK) : value;
  }
  return mask(tree, [], false);
}
