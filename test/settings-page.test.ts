import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createSettingsSchema, type JsonSchema } from '../src/config/json-schema.ts';
import { CONFIG_FILE, SETTING_OVERRIDES, variableOf } from '../src/config/setting-overrides.ts';

const page = readFileSync(new URL('../docs/settings.md', import.meta.url), 'utf8');

function* keysOf(schema: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  const { properties, ...rest } = schema as JsonSchema;
  for (const [key, inner] of Object.entries(properties ?? {})) {
    yield key;
    yield* keysOf(inner);
  }
  for (const inner of Object.values(rest)) yield* keysOf(inner);
}

it('the settings page documents every key of the configuration file', () => {
  const known = new Set(keysOf(createSettingsSchema()));
  expect(known.size).toBeGreaterThan(50);
  expect([...known].filter((key) => !new RegExp(`\\b${key}\\b`).test(page))).toEqual([]);
});

it('the settings page documents every flag and variable', () => {
  const names = [CONFIG_FILE, ...SETTING_OVERRIDES].flatMap((setting) => [
    `--${setting.flag} `,
    variableOf(setting),
  ]);
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});
