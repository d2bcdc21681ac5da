// Installs the distribution's packages with programs that tests use, if this process is root on Debian. Elsewhere, suites
// that lack one are left out: see test/fixtures/needs.ts.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, step } from './steps.mjs';

export async function ensureSystemPackages() {
  const missing = missingPackages();
  if (missing.length > 0) await step(`Installing ${missing.join(', ')}`, () => install(missing));
}

async function install(packages) {
  const first = await aptGet('install', ...packages);
  if (first.ok) return first;
  const updated = await aptGet('update');
  return updated.ok ? aptGet('install', ...packages) : updated;
}

/** Packages by the name that suites require them by. `only`: the one command that needs them, if it is not npm test. */
export function systemPackages() {
  return JSON.parse(readFileSync(join(root, 'test/fixtures/system-packages.json'), 'utf8'));
}

function missingPackages() {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return [];
  const required = Object.values(systemPackages()).flatMap(({ packages, only }) => (only ? [] : packages));
  const installed = new Set();
  for (const entry of readFileSync('/var/lib/dpkg/status', 'utf8').split('\n\n')) {
    const [, name] = /^Package: (.+)$/m.exec(entry) ?? [];
    if (/^Status: install ok installed$/m.test(entry)) installed.add(name);
  }
  return required.filter((name) => !installed.has(name));
}

function aptGet(...command) {
  const options = ['-qq', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'];
  return run('apt-get', [...options, ...command], {
    quiet: true,
    // At this run level, packages do not start their services.
    env: { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
}
