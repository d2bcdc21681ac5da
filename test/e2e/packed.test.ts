/** The file that `npm pack` makes, installed in an empty folder. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { startServer } from './server.ts';

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

/** As an installation leaves it, but its dependencies are links to those of this clone. */
function installPacked() {
  const folder = temporaryFolder();
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const output = execFileSync('npm', pack, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename, files }] = JSON.parse(output) as [Packed];
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  execFileSync('tar', ['-xzf', join(folder, filename)], { cwd: folder });
  cpSync(join(folder, 'package'), join(modules, 'tilewarden'), { recursive: true });
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  return { main: join(modules, 'tilewarden', 'dist', 'cli', 'main.js'), files };
}

let packed: ReturnType<typeof installPacked>;

beforeAll(() => {
  packed = installPacked();
});

it('a server starts from the packed file in an empty folder', async () => {
  const server = await startServer({ main: packed.main });
  for (const [path, type] of [
    ['/', 'text/html'],
    ['/docs/', 'text/html'],
    ['/tiles/world/1/0/0.png', 'image/png'],
    ['/api/v1/openapi.json', 'application/json'],
  ]) {
    const { authorization } = server;
    const response = await fetch(`${server.url}${path}`, { headers: { authorization } });
    expect([path, response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([
      path,
      200,
      type,
    ]);
  }
  expect((await server.stop()).code).toBe(0);
});

it('the packed file has the build, what deploys it, and nothing else', () => {
  const { files } = packed;
  const paths = files.map(({ path }) => path);
  expect([...new Set(paths.map((path) => path.split('/')[0]))].sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'deploy',
    'dist',
    'package.json',
  ]);
  expect(
    paths.filter((path) => /\.test\.|\.[cm]?tsx?$|\.map$|(^|\/)\.|^dist\/compiled\//.test(path)),
  ).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      'deploy/tilewarden.service',
      'dist/third-party-notices.txt',
      'dist/web/index.html',
    ]),
  );
  expect(files.find(({ path }) => path === 'dist/cli/main.js')?.mode).toBe(0o755);
});
