import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { askGolden, type GoldenFamily } from '../../../test/fixtures/golden-documents.ts';

const GOLDEN = fileURLToPath(new URL('../../../test/golden', import.meta.url));

describe.each<GoldenFamily>(['mass-truncate', 'disk-quota'])('a document of %s', (family) => {
  const folder = join(GOLDEN, family);
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.answer.json'))
    .map((name) => name.replace('.answer.json', ''));

  it.each(names)(`the golden ${family} document "%s" has its result, as XML and as JSON`, async (name) => {
    const golden = JSON.parse(readFileSync(join(folder, `${name}.answer.json`), 'utf8')) as unknown;
    const [xml, json] = await Promise.all([
      askGolden(family, 'xml', readFileSync(join(folder, `${name}.xml`))),
      askGolden(family, 'json', readFileSync(join(folder, `${name}.json.txt`))),
    ]);
    expect({ xml, json }).toEqual(golden);
  });
});
