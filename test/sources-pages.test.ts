import { readdirSync, readFileSync } from 'node:fs';
import { load as parse } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { checkSettings } from '../src/config/check-settings.ts';
import { revealSecrets } from '../src/config/secrets.ts';
import { settingsSchema, sourceSchema } from '../src/config/settings-schema.ts';

const folder = new URL('../docs/sources/', import.meta.url);
const pages = readdirSync(folder).filter((name) => name.endsWith('.md'));
const ENVIRONMENT = { SATELLITE_KEY: 'k', WMS_PASSWORD: 'p' };

function snippetsOf(page: string): readonly string[] {
  const text = readFileSync(new URL(page, folder), 'utf8');
  return [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, snippet = '']) => snippet);
}

it('every source has a page', () => {
  const types = sourceSchema.options.map(({ shape }) => shape.type.value);
  expect(pages).toEqual(expect.arrayContaining(types.map((type) => `${type}.md`)));
});

describe.each(pages)('%s', (page) => {
  const snippets = snippetsOf(page);

  it(`${page} has a configuration`, () => {
    expect(snippets.length).toBeGreaterThan(0);
  });

  it.each(snippets.map((snippet, index) => [index + 1, snippet] as const))(
    `configuration %i in ${page} works when pasted`,
    (_, snippet) => {
      const { tree, problems } = revealSecrets(parse(snippet), ENVIRONMENT, '/');
      expect(problems).toEqual([]);
      const document = settingsSchema.parse(tree);
      expect(checkSettings(document).problems).toEqual([]);
      expect(document.layers.map(({ source }) => source.type)).toContain(page.replace('.md', ''));
    },
  );
});
