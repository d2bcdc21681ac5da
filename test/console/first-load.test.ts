import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const web = fileURLToPath(new URL('../../dist/web', import.meta.url));

it('the first load of the console has no map library and no translation in it', () => {
  const page = readFileSync(join(web, 'index.html'), 'utf8');
  const files = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, name = '']) => name);
  const text = files.map((name) => readFileSync(join(web, name), 'utf8')).join('');
  expect(text).toContain('Seed and truncate');
  for (const foreign of ['GeometryCollection', 'Seed und Truncate']) expect(text).not.toContain(foreign);
});
