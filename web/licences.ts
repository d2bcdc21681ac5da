import { readFileSync } from 'node:fs';

export interface Licence {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

/** What the server and its pages are made of, as the manifests of the packages say it. */
export function licences(): readonly Licence[] {
  const names = new Set([...dependenciesOf('../package.json'), ...dependenciesOf('./package.json')]);
  return [...names].sort().flatMap(licenceOf);
}

function dependenciesOf(manifest: string): readonly string[] {
  const { dependencies } = read(manifest) as { readonly dependencies: Readonly<Record<string, string>> };
  return Object.keys(dependencies);
}

/** A package for other machines may not be installed on this one. */
function licenceOf(name: string): readonly Licence[] {
  try {
    const { version, license } = read(`../node_modules/${name}/package.json`) as Record<string, string>;
    return [{ name, version: version ?? '', licence: license ?? '' }];
  } catch {
    return [];
  }
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}
