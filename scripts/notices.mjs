import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';

/** Writes the licences and notices of all packages that the build may have bundled. */
export function writeNotices(folder) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const shipped = Object.entries(packages).filter(
    ([path, { dev, link }]) =>
      path.startsWith('node_modules/') && !dev && !link && existsSync(join(root, path)),
  );
  const notices = shipped.map(([path, { version, license }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return [`${name} ${version} (${license})`, ...noticesIn(join(root, path))].join('\n\n');
  });
  writeFileSync(join(folder, 'third-party-notices.txt'), `${notices.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
}

function noticesIn(folder) {
  return readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8').trim());
}
