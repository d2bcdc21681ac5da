/** The tools that `npm test` itself runs on. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { started } from '../scripts/steps.mjs';
import { eventually } from './fixtures/eventually.ts';
import { isAlive, openDaemon, openPlace } from './fixtures/processes.ts';
import { whenOver } from './fixtures/when-over.ts';

const scripts = new URL('../scripts/', import.meta.url);
const FOREVER = 'setInterval(() => {}, 1000)';

interface Run {
  readonly owner: ChildProcess;
  readonly folder: string;
  /** For programs that refuse to run as root. */
  readonly openFolder: string;
  /** A child of the owner, and one that has left its group and ignores polite signals. */
  readonly pids: readonly number[];
}

async function startNode(program: string, stderr: 'inherit' | 'pipe' = 'inherit'): Promise<ChildProcess> {
  const args = ['--input-type=module', '-e', program];
  const child = await started(spawn(process.execPath, args, { stdio: ['pipe', 'pipe', stderr] }));
  whenOver(() => child.kill('SIGKILL'));
  return child;
}

async function startRun(parent = tmpdir()): Promise<Run> {
  const owner = await startNode(`
    import { spawn } from 'node:child_process';
    import { openTestRun } from '${new URL('test-run.mjs', scripts)}';
    const end = await openTestRun(${JSON.stringify(parent)});
    const options = { stdio: 'ignore' };
    const child = spawn(process.execPath, ['-e', '${FOREVER}'], options);
    const stubborn = "process.on('SIGINT', () => {}); ${FOREVER}";
    const other = spawn(process.execPath, ['-e', stubborn], { ...options, detached: true });
    const { TMPDIR: folder, TEST_OPEN_FOLDER: openFolder } = process.env;
    console.log(JSON.stringify({ folder, openFolder, pids: [child.pid, other.pid] }));
    process.stdin.once('data', () => { child.kill(); other.kill('SIGKILL'); end().then(() => process.exit()); });
  `);
  const [line] = (await once(owner.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  return { owner, ...(JSON.parse(String(line)) as Omit<Run, 'owner'>) };
}

/** The closing lines of a run that had to leave out three tests, and its exit status. */
async function closing(requireAll: boolean): Promise<{ code: number; lines: string[] }> {
  const node = await startNode(`
    process.stderr.write = (text) => process.stdout.write(text);
    const { report } = await import('${new URL('test.mjs', scripts)}');
    const leftOut = [
      { file: 'test/b.test.ts', missing: ['s3'] },
      { file: 'test/a.test.ts', missing: ['s3'] },
      { file: 'test/b.test.ts', missing: ['gdal'] },
    ];
    report({ passed: 7, failed: 0, leftOut }, { requireAll: ${requireAll} });
  `);
  let text = '';
  node.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const [code] = (await once(node, 'close')) as [number];
  return { code, lines: text.trimEnd().split('\n') };
}

describe('the closing lines of a test run', () => {
  const LEFT_OUT = [
    'Left out: 2 tests in test/a.test.ts, test/b.test.ts. Missing: s3. On Debian: apt-get install ceph-common ceph-mon ceph-osd radosgw',
    'Left out: 1 test in test/b.test.ts. Missing: gdal. On Debian: apt-get install gdal-bin',
  ];

  it('tests whose programs are missing are counted by reason and do not fail the run', async () => {
    expect(await closing(false)).toEqual({ code: 0, lines: [...LEFT_OUT, '7 passed, 0 failed, 3 skipped'] });
  });

  it('tests whose programs are missing fail the run if all tests are required', async () => {
    expect(await closing(true)).toEqual({ code: 1, lines: [...LEFT_OUT, '7 passed, 3 failed'] });
  });
});

function untilGone({ folder, openFolder, pids }: Run): Promise<unknown> {
  return eventually(
    'nothing of the run is left',
    () => [existsSync(folder), existsSync(openFolder), ...pids.map(isAlive)],
    (left) => !left.includes(true),
  );
}

describe.runIf(process.platform !== 'win32')('a signal to a script alone', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    '%s to a script ends the programs that it runs, and no other starts',
    async (signal, status) => {
      const program = `
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', '${FOREVER}'], { stdio: 'ignore' });
      console.error(JSON.stringify([process.pid, child.pid]));
      ${FOREVER};
    `;
      const script = await startNode(
        `
        import { run } from '${new URL('steps.mjs', scripts)}';
        await run(process.execPath, ['-e', ${JSON.stringify(program)}]);
        await run(process.execPath, ['-e', 'console.error("another")']);
      `,
        'pipe',
      );
      const [line] = (await once(script.stderr as NodeJS.ReadableStream, 'data')) as [Buffer];
      const pids = JSON.parse(String(line)) as number[];
      whenOver(() => pids.filter(isAlive).map((pid) => process.kill(pid, 'SIGKILL')));
      let rest = '';
      script.stderr?.setEncoding('utf8').on('data', (text: string) => {
        rest += text;
      });
      script.kill(signal);
      expect(await once(script, 'exit')).toEqual([status, null]);
      await eventually(
        'its programs have ended',
        () => pids.filter(isAlive),
        (left) => left.length === 0,
      );
      expect(rest).toBe('');
    },
  );
});

describe('a program that tests need', () => {
  it.each([
    ['is missing', '/missing/program', 'ENOENT'],
    ['may not be executed', fileURLToPath(import.meta.url), 'EACCES'],
    ['ends early', process.execPath, 'node ended with 1\nnothing to do'],
  ])('a program that %s is a failure with its reason', async (_, program, reason) => {
    const args = ['-e', 'console.error("nothing to do"); process.exit(1)'];
    const opening = openDaemon(program, args, { isReady: async () => false });
    await expect(opening).rejects.toThrow(reason);
  });
});

describe.runIf(process.platform === 'linux')('the keeper of a test run', () => {
  it('a killed test run leaves no processes or files, and a concurrent run continues', async () => {
    const [killed, beside] = [await startRun(), await startRun()];
    expect([existsSync(killed.folder), ...killed.pids.map(isAlive)]).toEqual([true, true, true]);
    killed.owner.kill('SIGKILL');
    await untilGone(killed);
    expect([existsSync(beside.folder), ...beside.pids.map(isAlive)]).toEqual([true, true, true]);
    beside.owner.kill('SIGKILL');
    await untilGone(beside);
  });

  it('a program that gives up root can enter a folder of a test run in a private folder', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'tilewarden private Ümläut '));
    whenOver(() => rmSync(parent, { recursive: true, force: true }));
    const run = await startRun(parent);
    expect(dirname(run.folder)).toBe(parent);
    vi.stubEnv('TEST_OPEN_FOLDER', run.openFolder);
    whenOver(() => vi.unstubAllEnvs());
    const fill = async (folder: string) => writeFileSync(join(folder, 'needed'), 'read', { mode: 0o600 });
    const { folder, account } = await openPlace('private', fill);
    const seen = execFileSync('cat', [join(folder, 'needed')], { ...account, encoding: 'utf8' });
    expect(seen).toBe('read');
    run.owner.kill('SIGKILL');
    await untilGone(run);
    expect(existsSync(folder)).toBe(false);
  });

  it('a test run that ends normally removes its folder before', async () => {
    const run = await startRun();
    run.owner.stdin?.write('end\n');
    await once(run.owner, 'exit');
    expect(existsSync(run.folder)).toBe(false);
  });
});
