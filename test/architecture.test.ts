import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from '../scripts/mutants.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const MAX_LINES = 400;
const MAX_MEMBERS = 10;

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

function sourceFiles(folder: string): readonly SourceFile[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(root, folder, name))
    .map((file) => ({
      path: relative(root, file).replaceAll('\\', '/'),
      text: readFileSync(file, 'utf8'),
    }));
}

/** All files of a clone, without files that commands have written. */
function cloneFiles(): readonly string[] {
  const ignored: readonly string[] =
    readFileSync(join(root, '.gitignore'), 'utf8').match(/^[\w.-]+(?=\/$)/gm) ?? [];
  const others = readdirSync(root).filter((name) => name !== '.git' && !ignored.includes(name));
  return others.flatMap((name) =>
    statSync(join(root, name)).isFile()
      ? name
      : readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
          .map((inner) => join(name, inner))
          .filter((path) => !path.split(sep).some((part) => ignored.includes(part)))
          .filter((path) => statSync(join(root, path)).isFile()),
  );
}

/** The relative paths in a file: imports, files loaded beside it, and links. */
function relativeTargets(text: string): readonly string[] {
  const targets = text.matchAll(
    /(?:from |import\(|import |require\(|new URL\()['"`](\.[^'"`]*)['"`]|\]\((\.[^)#\s]*)/g,
  );
  return [...targets].map(([, loaded, linked]) => loaded ?? linked ?? '');
}

/** The imports of a file that are loaded with it: neither types nor `import()`. */
function loadedBy(text: string): readonly string[] {
  const imports = text.matchAll(/^(?:import|export) (?!type )([^;]*? from )?'([^']+)'/gms);
  return [...imports].flatMap(([, what = '', name = '']) => {
    const names = /^\{(.*)\}/s
      .exec(what)?.[1]
      ?.split(',')
      .filter((one) => one.trim() !== '');
    return names?.every((one) => one.trim().startsWith('type ')) ? [] : name;
  });
}

/** Files and packages that these modules load when they are loaded, and those that they load. */
function loadedWith(...entries: readonly string[]): ReadonlySet<string> {
  const loaded = new Set(entries.map((entry) => `src/${entry}.ts`));
  for (const path of loaded) {
    for (const name of loadedBy(code.find((file) => file.path === path)?.text ?? '')) {
      loaded.add(name.startsWith('.') ? join(path, '..', name) : name);
    }
  }
  return loaded;
}

/** Of the interfaces that have methods, those that an implementation must have. */
function requiredMembers(text: string): readonly { name: string; members: readonly string[] }[] {
  const interfaces = [...text.matchAll(/^export interface (\w+)[^{]*\{\n(.*?)^\}/gms)];
  return interfaces
    .filter(([, , body = '']) => /^ {2}\w+\??\(/m.test(body))
    .map(([, name = '', body = '']) => ({
      name,
      members: [
        ...new Set(Array.from(body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm), ([, name = '']) => name)),
      ],
    }));
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

interface LockEntry {
  readonly hasInstallScript?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly allowScripts?: Record<string, boolean>;
}

const files = [...sourceFiles('src'), ...sourceFiles('packages')];
const code = files.filter(({ path }) => !path.endsWith('.test.ts'));

// The doors themselves are checked by dependency-cruiser in `npm run check`.
describe('the source tree', () => {
  it('only src/config reads the environment', () => {
    const readers = code.filter(({ text }) => /\bprocess\s*\.\s*env\b/.test(text));
    expect(readers.map(({ path }) => path).filter((path) => !path.startsWith('src/config/'))).toEqual([]);
  });

  it('a start of the server loads no part that few requests need', () => {
    const loaded = loadedWith('cli/main', 'app/supervise');
    expect(loaded).toContain('src/tasks/exporter.ts');
    const late = ['jose', 'openid-client', 'pg', 'pmtiles', 'prom-client', '@aws-sdk/client-s3'];
    const parts = ['src/export/export-tiles.ts', 'src/import/import-from.ts'];
    expect([...late, '@azure/storage-blob', ...parts].filter((name) => loaded.has(name))).toEqual([]);
  });

  it('no source file is longer than its limit', () => {
    const long = [...files, ...sourceFiles('web/src')].filter(
      ({ text }) => text.split('\n').length > MAX_LINES + 1,
    );
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  it('no contract of a store or a source asks for more than ten members', () => {
    const contracts = [
      'storage/store',
      'storage/store-driver',
      'storage/objects/object-store',
      'sources/tile-source',
    ];
    const asked = contracts.flatMap((name) =>
      requiredMembers(code.find(({ path }) => path === `src/${name}.ts`)?.text ?? ''),
    );
    const longest = asked.find(({ name }) => name === 'Store');
    expect(longest?.members).toContain('usage');
    expect(asked.filter(({ members }) => members.length > MAX_MEMBERS)).toEqual([]);
  });

  it('no folder or file is called utils, helpers, misc or common', () => {
    const drawers = files.filter(({ path }) => /\b(utils?|helpers?|misc|common)\b/.test(path));
    expect(drawers.map(({ path }) => path)).toEqual([]);
  });

  it('source files are named in kebab-case', () => {
    const others = files.filter(
      ({ path }) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.bench|\.d)?\.ts$/.test(basename(path)),
    );
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  it('no source file is a barrel of exports', () => {
    const barrels = code.filter(
      ({ path, text }) => /\/index\.ts$/.test(path) || /^export \* from/m.test(text),
    );
    expect(barrels.map(({ path }) => path)).toEqual([]);
  });

  it('no source file evaluates text as code', () => {
    const evaluators = code.filter(({ text }) => /\beval\(|\bnew Function\(|from 'node:vm'/.test(text));
    expect(evaluators.map(({ path }) => path)).toEqual([]);
  });
});

describe('a clone', () => {
  const files = cloneFiles().map((path) => ({ path, text: readFileSync(join(root, path), 'latin1') }));

  it('a clone refers to nothing outside itself', () => {
    const outside = files.flatMap(({ path, text }) =>
      relativeTargets(text)
        .filter((target) => relative(root, resolve(root, path, '..', target)).startsWith('..'))
        .map((target) => `${path}: ${target}`),
    );
    expect(files.map(({ path }) => path)).toContain('README.md');
    expect(outside).toEqual([]);
  });

  it('no child process that cannot be started ends its parent', () => {
    // They listen for errors themselves; the last has programs of its own as text.
    const others = ['scripts/steps.mjs', 'src/cli/child-processes.ts', 'test/test-run.test.ts'];
    const users = files.filter(({ text }) =>
      /import \{[^}]*\b(?:spawn|fork)\b[^}]*\} from 'node:child_process'/.test(text),
    );
    expect(users.map(({ path }) => path)).toEqual(expect.arrayContaining(others));
    const bare = users.filter(({ text }) => /(?<!\bstarted\(\s*)\b(?:spawn|fork)\(/.test(text));
    expect(bare.map(({ path }) => path).sort()).toEqual(others);
  });

  it('workflows name actions by the hash of a commit, which cannot be moved as a tag can', () => {
    const workflows = files.filter(({ path }) => path.startsWith(join('.github', 'workflows')));
    const actions = workflows.flatMap(({ text }) => text.match(/uses: .*/g) ?? []);
    expect(actions.length).toBeGreaterThan(3);
    expect(actions.filter((use) => !/@[0-9a-f]{40} # v\d|: \.\//.test(use))).toEqual([]);
  });

  it('a clone names no folder of one machine', () => {
    // Written so that this file does not match itself.
    const folders = /(?<![\w.:/-])\/(?:home|work|Users|root)\/\w|\.\.\/shar[e]d/;
    expect(files.filter(({ text }) => folders.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe('dependencies', () => {
  const lock = readJson('package-lock.json') as { readonly packages: Record<string, LockEntry> };
  const manifest = readJson('package.json') as Manifest;
  const web = readJson('web/package.json') as Manifest;
  const packages = Object.entries(lock.packages).filter(([path]) => path.startsWith('node_modules/'));

  it('dependencies run no install script without a decision in allowScripts', () => {
    const withScripts = packages
      .filter(([, entry]) => entry.hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''));
    const decided = Object.keys(manifest.allowScripts ?? {});
    expect(withScripts.filter((name) => !decided.includes(name))).toEqual([]);
  });

  it('dependencies have exact versions', () => {
    const loose = [manifest, web, readJson('test/package.json') as Manifest]
      .flatMap(({ dependencies, devDependencies }) => Object.entries({ ...dependencies, ...devDependencies }))
      .filter(([, version]) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
    expect(loose).toEqual([]);
  });

  it('dependencies of package.json and web/ are used by the server or its build', () => {
    const build = ['build', 'bundle', 'docs/write-docs', 'pixels'].map((name) => `scripts/${name}.mjs`);
    const users = [...build, 'web/package.json', 'web/vite.config.ts'];
    const sources = [...code, ...sourceFiles('web/src')].map(({ text }) => text);
    const text = [...users.map((path) => readFileSync(join(root, path), 'utf8')), ...sources].join('\n');
    const unused = [manifest, web]
      .flatMap(({ dependencies, devDependencies }) => Object.keys({ ...dependencies, ...devDependencies }))
      .filter((name) => ![`'${name}'`, `'${name}/`, `\`${name}/`].some((use) => text.includes(use)));
    expect(unused).toEqual([]);
  });

  it('dependencies come from the registry with a checksum, except those of other platforms', () => {
    const strangers = packages.filter(
      ([, entry]) => !entry.link && (entry.resolved || !(entry.integrity || (entry.optional && entry.os))),
    );
    expect(strangers.map(([path]) => path)).toEqual([]);
  });

  it('dependencies are locked for every platform, as a clean install requires', () => {
    const missing = packages.flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).filter((name) => !isLocked(path, name)),
    );
    expect(missing).toEqual([]);
  });

  /** Whether the package at `path` finds `name` beside itself or further out. */
  function isLocked(path: string, name: string): boolean {
    if (lock.packages[`${path === '' ? '' : `${path}/`}node_modules/${name}`]) return true;
    return path !== '' && isLocked(path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/'))), name);
  }
});

it('each fault of npm run test:mutants has its one line and its tests', () => {
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
  const strangers = MUTANTS.filter(({ file, line }) => textOf(file).split(line).length !== 2);
  expect(strangers.map(({ file, line }) => `${file}: ${line}`)).toEqual([]);
  for (const { tests } of MUTANTS)
    for (const test of tests) expect(statSync(join(root, test)).isFile()).toBe(true);
});
