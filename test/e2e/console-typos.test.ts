/**
 * A typo in every field of the console. Each form is filled in so that it could be sent; then, field by field, a wrong value is
 * typed: the field shows a fault, and neither Enter nor the button sends anything. A field that the table lacks fails the test.
 */
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { isLong, randomSeed } from '../fixtures/length.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

/** Chooses one typo for each field; the long form tries all. */
const SEED = randomSeed();
const GRID = { formats: ['image/png'], gridSets: [{ name: 'EPSG:900913', zoomStop: 6 }] };
const CONFIG = JSON.stringify({
  layers: [
    { name: 'world', title: 'World', source: { type: 'world' }, ...GRID },
    {
      name: 'roads',
      title: 'Roads',
      source: { type: 'wms', url: 'https://maps.example.org/wms', layers: 'r' },
      ...GRID,
      parameters: [
        { name: 'CQL_FILTER', default: 'A=1', regex: '[A-Z]=[0-9]' },
        { name: 'ELEVATION', default: 0, floats: [0, 10.5] },
      ],
    },
  ],
});

/** What is typed in turn into a field that is right as it is filled in. */
type Wrong = readonly string[];

interface FormUnderTest {
  readonly path: string;
  readonly heading: string;
  /** The part of the page that is the form; all of it when left out. */
  readonly within?: (page: Page) => Locator;
  /** Opens the form, and fills in what is missing. */
  readonly prepare?: (form: Locator, page: Page) => Promise<unknown>;
  /** By label. */
  readonly fields: Readonly<Record<string, Wrong>>;
  /** Fields in which any text is right. */
  readonly free?: readonly string[];
  readonly send: string | RegExp;
  /** The button opens a question first, in which this one sends. */
  readonly confirm?: string;
}

/** Not the beginning of a name, which Enter completes. */
const LAYER: Wrong = ['raods', 'roads2', 'wrold'];
const ZOOM: Wrong = ['', '1e', '-1', '7', '1.5'];
const SIDES = { 'Min x': ['abc', '5e'], 'Min y': ['1,2,3'], 'Max x': ['-9'], 'Max y': ['x'] };
const PLAN = {
  Layer: LAYER,
  'From zoom': ZOOM,
  'To zoom': ZOOM,
  CQL_FILTER: ['a=1', 'A=1 or 1=1', ''],
  ...SIDES,
  'Polygons in degrees, longitude first': ['{', '{"type":"Point","coordinates":[1,2]}', 'roads'],
};
const PATTERNS: Wrong = ['', 'raods', 'roads, wrold', ' , '];
const AREAS: Wrong = ['nowhere', 'nowhere, '];
const NAME: Wrong = ['', 'olga b', 'a:b', '-x'];
const PASSWORD = 'a new sentence for tests';
const card = (title: string) => (page: Page) => page.getByRole('region', { name: title, exact: true });
const form = (name: string) => (page: Page) => page.getByRole('form', { name, exact: true });

async function fill(within: Locator, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await field(within, label).fill(value);
}

async function openArea(within: Locator): Promise<void> {
  await within.getByText('Area from GeoJSON').click();
  await fill(within, { 'Min x': '0', 'Min y': '0', 'Max x': '1000', 'Max y': '1000' });
}

const FORMS: Readonly<Record<string, FormUnderTest>> = {
  'a seed': {
    path: 'seed/roads?type=seed&zoomStart=0&zoomStop=2',
    heading: 'Seed and truncate',
    prepare: openArea,
    fields: { ...PLAN, Threads: ['', '0', '1e', '1.5'] },
    send: 'Start',
  },
  'a seed by use': {
    path: 'seed/world?type=seed&zoomStart=0&zoomStop=2&order=use',
    heading: 'Seed and truncate',
    fields: { 'Share of the use, in percent': ['', '0', '101', 'e'] },
    free: [...Object.keys(PLAN), 'Threads'],
    send: 'Start',
  },
  'a schedule': {
    path: 'schedules/new?layer=roads&zoomStart=0&zoomStop=2',
    heading: 'New schedule',
    prepare: async (within) => {
      await openArea(within);
      await fill(within, { Name: 'nightly', 'Run from': '20:00', until: '06:00' });
    },
    fields: {
      ...PLAN,
      Name: ['', '  '],
      'Cron expression': ['', '* * * *', '61 * * * *', '@dayly', '0 0 31 2 *', '0 22 * * MOO'],
      'Time zone': ['', 'Berlin', 'Europe/Berlni'],
      'Run from': [''],
      until: [''],
      Threads: ['', '0'],
    },
    send: 'Save',
  },
  'a new user': {
    path: 'accounts',
    heading: 'Accounts',
    within: form('Add user'),
    prepare: (within) =>
      fill(within, {
        Name: 'olga',
        Password: PASSWORD,
        'Password, repeated': PASSWORD,
        Layers: 'roads, wor*',
      }),
    fields: {
      Name: NAME,
      Password: ['', 'short'],
      'Password, repeated': ['', 'other'],
      Layers: PATTERNS,
      Areas: AREAS,
    },
    send: 'Add user',
  },
  'a new token': {
    path: 'accounts',
    heading: 'Accounts',
    within: form('Create token'),
    prepare: (within) => fill(within, { Name: 'deploy', Layers: 'roads' }),
    fields: { Name: NAME, Layers: PATTERNS, 'Expires on': ['2001-01-01'] },
    send: 'Create token',
  },
  'a changed user': {
    path: 'accounts',
    heading: 'Accounts',
    within: (page) => page.getByRole('dialog'),
    prepare: (_within, page) => page.getByRole('button', { name: 'Edit mary' }).click(),
    fields: {
      Layers: PATTERNS,
      Areas: AREAS,
      'New password': ['short'],
      'New password, repeated': ['other'],
    },
    send: 'Save',
  },
  'the own password': {
    path: 'accounts',
    heading: 'Accounts',
    within: card('Your password'),
    prepare: (within) =>
      fill(within, {
        'Current password': 'some sentence',
        'New password': PASSWORD,
        'New password, repeated': PASSWORD,
      }),
    fields: {
      'Current password': [''],
      'New password': ['', 'short'],
      'New password, repeated': ['', 'other'],
    },
    send: 'Change',
  },
  'a new key': {
    path: 'keys',
    heading: 'Keys',
    within: form('Create key'),
    prepare: (within) =>
      fill(within, {
        Name: 'desk',
        Layers: 'roads',
        Origins: 'https://example.org',
        'Requests per second': '5',
      }),
    fields: {
      Name: ['', ' '],
      Layers: PATTERNS,
      Areas: AREAS,
      Origins: ['example.org', 'https://example.org/', 'https://a.org, htps://b.org'],
      'Requests per second': ['0', '1e', '-1', '1.5'],
      'Requests per day': ['0', 'e', '1.5'],
      'Expires on': ['2001-01-01'],
    },
    send: 'Create key',
  },
  'the quota': {
    path: 'quota',
    heading: 'Quota',
    within: card('Limits'),
    prepare: async (within) => {
      await fill(within, { Layer: 'roads' });
      await within.getByRole('button', { name: 'Add limit' }).click();
      await fill(within, { 'Limit for all layers': '500' });
    },
    fields: {
      'Limit for all layers': ['', '0', '-1', 'x', '1e999'],
      'Limit for roads': ['', '0', 'ten'],
      'Check every': ['', '0', '1.5', 'x'],
      Layer: ['wrold', 'roads'],
    },
    send: 'Save',
  },
  'a map service': {
    path: 'add',
    heading: 'Add layer',
    prepare: (within) => fill(within, { 'Address of a WMS or WMTS': 'https://maps.example.org/wms' }),
    fields: {
      'Address of a WMS or WMTS': ['', 'maps.example.org', 'htp://maps.example.org', 'file:///etc/passwd'],
    },
    send: 'Read capabilities',
  },
  'a new layer': {
    path: 'add',
    heading: 'Add layer',
    within: card('Layer settings'),
    prepare: async (within, page) => {
      await page.getByRole('button', { name: 'Enter manually' }).click();
      await fill(within, { Address: 'https://maps.example.org/wms', Layers: 'r', 'To zoom': '6' });
      await within.getByRole('button', { name: 'Add a parameter filter' }).click();
      await within.getByLabel('Allowed values').selectOption('integers');
      await fill(within, { 'Default value': '1', Values: '1, 2' });
      await field(within, 'Values').blur();
    },
    fields: {
      Name: [''],
      Address: ['', 'maps.example.org', 'htp://x.org'],
      Layers: [''],
      'From zoom': ['x', '-1', '99'],
      'To zoom': ['x', '1e', '99'],
      'Another grid set': ['EPSG:90091', 'epsg:900913'],
      Parameter: [''],
      Values: ['1, x', 'one'],
      'Metatile columns': ['0', 'x', '99'],
      'Metatile rows': ['0', 'x', '99'],
      'Gutter (pixels)': ['-1', 'x', '9999'],
      'From scale 1 :': ['-1', 'x'],
      'Below scale 1 :': ['-1', 'x'],
      'Expire in the cache after (s)': ['-2', 'x', '1.5'],
      'Clients may keep for (s)': ['-2', 'x', '1.5'],
      'All settings (JSON)': ['', '{', '{}', '{"name":"x","sorce":{}}'],
    },
    free: ['Title', 'Default value'],
    send: 'Save layer',
  },
  'a stop of tasks': {
    path: 'tasks',
    heading: 'Tasks',
    fields: { Layer: LAYER },
    send: /^Stop 1/,
    confirm: 'Stop all',
  },
};

function field(within: Locator, label: string): Locator {
  return within.getByLabel(label, { exact: true });
}

function chosen(wrong: Wrong): Wrong {
  return isLong ? wrong : wrong.slice(SEED % wrong.length).slice(0, 1);
}

declare const typos: {
  readonly sent: readonly string[];
  others(root: unknown, known: readonly string[]): readonly string[];
  tryAll(root: unknown, fields: object, verb: string | RegExp, timeoutMs: number): Promise<readonly string[]>;
};

describe('a typo in a field of the console', needs('chromium'), () => {
  let server: OpenServer;
  let open: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    server = await openServer({ config: CONFIG, expectedLog: /maps.example.org/ });
    open = await openConsole(await sharedBrowser(), server.url);
    page = open.page;
    await page.addInitScript({ path: fileURLToPath(new URL('typos-in-page.mjs', import.meta.url)) });
    await open.signIn();
    await api('users', { name: 'mary', password: PASSWORD, role: 'viewer', layers: ['roads'] });
    await api('tasks', { layer: 'world', zoomStop: 0 });
    await api('tasks', { layer: 'roads', zoomStop: 6 });
    const byUse = { layer: 'world', zoomStop: 2, order: 'use', dryRun: true };
    const counted = async () => {
      await fetch(`${server.url}/tiles/world/0/0/0.png`);
      return ((await api('tasks', byUse)) as { readonly tiles: number }).tiles;
    };
    await eventually('the use of a tile is recorded', counted, (tiles) => tiles > 0);
  });

  afterAll(async () => {
    await open?.close();
    await server?.stop();
  });

  async function api(path: string, body: object): Promise<unknown> {
    const headers = { authorization: server.authorization, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${server.url}/api/v1/${path}`, init);
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return JSON.parse(text);
  }

  it.each(Object.entries(FORMS))(
    `%s is not sent while one of its fields is wrong, and the field says so (seed ${SEED})`,
    async (_, { path, heading, within, prepare, fields, free = [], send, confirm }) => {
      await page.goto(`${server.url}/#/about`);
      await open.go(path, heading);
      const form = within?.(page) ?? page.getByRole('main');
      await prepare?.(form, page);
      const button = form.getByRole('button', { name: send, exact: true });
      await eventually('the form can be sent', () => button.isEnabled());
      const known = [...Object.keys(fields), ...free];
      const some = Object.entries(fields).map(([name, wrong]) => [name, chosen(wrong)]);
      expect(await form.evaluate((root, names) => typos.others(root, names), known)).toEqual([]);
      const missed = await form.evaluate(
        (root, [table, verb, timeoutMs]) => typos.tryAll(root, table, verb, timeoutMs),
        [Object.fromEntries(some), send, WAIT_TIMEOUT_MS] as const,
      );
      expect(missed).toEqual([]);
      await eventually('the form can be sent again', () => button.isEnabled());
      await button.click();
      if (confirm) await page.getByRole('dialog').getByRole('button', { name: confirm }).click();
      await eventually('it was sent when it was right', () => page.evaluate(() => typos.sent.length > 0));
    },
  );
});
