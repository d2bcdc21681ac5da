import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../fixtures/needs.ts';
import { sharedBrowser } from '../fixtures/shared-services.ts';
import { type ConsolePage, openConsole } from './console-browser.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

const CAPABILITIES = `<WMS_Capabilities version="1.3.0"><Capability><Request><GetMap><Format>image/png</Format></GetMap></Request>
<Layer><Title>City</Title><EX_GeographicBoundingBox><westBoundLongitude>9.9</westBoundLongitude><eastBoundLongitude>10.1</eastBoundLongitude>
<southBoundLatitude>53.5</southBoundLatitude><northBoundLatitude>53.6</northBoundLatitude></EX_GeographicBoundingBox>
<Layer><Name>parcels</Name><Title>Parcels</Title>${[25832, 25833, 31467, 4258, 5243, 3044].map((code) => `<CRS>EPSG:${code}</CRS>`).join('')}
<Style><Name>strong</Name></Style><Style><Name>pale</Name></Style></Layer></Layer></Capability></WMS_Capabilities>`;

describe('grid sets in the console', needs('chromium'), () => {
  let service: Server;
  let server: OpenServer;
  let console: ConsolePage;

  beforeAll(async () => {
    service = createServer((_, response) => response.setHeader('content-type', 'text/xml').end(CAPABILITIES));
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    // Its pictures are no pictures: the preview of the layer fails, and says so.
    const config = "upstreams: { '127.0.0.1': { allowPrivate: true } }";
    server = await openServer({ config, expectedLog: /parcels|preview|upstream/ });
    console = await openConsole(await sharedBrowser(), server.url);
    await console.signIn();
  });
  afterAll(async () => {
    await console?.close();
    await server?.stop();
    service?.close();
  });

  const address = () => `http://127.0.0.1:${(service.address() as AddressInfo).port}/wms`;
  async function get<Answer>(path: string): Promise<Answer> {
    const answer = await fetch(`${server.url}/${path}`, { headers: { authorization: server.authorization } });
    return (await answer.json()) as Answer;
  }

  it('a layer in a national CRS is added from the address of the first run, with a grid set declared on the way', async () => {
    const { page } = console;
    await page.getByRole('textbox', { name: 'Address' }).fill(address());
    await page.getByRole('button', { name: 'Read capabilities' }).click();
    await page.getByText('1 layer needs a grid set').waitFor();
    await page.getByRole('button', { name: 'EPSG:25832 · 1 layer…' }).click();
    await page.getByLabel('Scheme').waitFor();
    expect(await page.getByLabel('Scheme').locator('option').allInnerTexts()).toEqual([
      'AdV, Germany',
      'Dataforsyningen, Denmark',
      'Kartverket, Norway',
      'Powers of two, computed from the extent',
    ]);
    await page.getByRole('spinbutton', { name: 'Zooms' }).fill('16');
    await page.getByText('4 × 4 tiles').waitFor();
    expect(await console.accessibilityFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Save grid set' }).click();
    await page.getByRole('button', { name: /Parcels/ }).click();
    const text = page.getByLabel('All settings (JSON)');
    await page.getByLabel('Gutter (pixels)').fill('16');
    await page.getByLabel('Metatile columns').fill('2');
    await page.getByLabel('Access').selectOption('operator');
    const document = JSON.parse(await text.inputValue());
    expect(document).toMatchObject({
      gridSets: [{ name: 'EPSG:25832' }],
      parameters: [{ name: 'STYLES', default: '', values: ['', 'strong', 'pale'] }],
      gutter: 16,
      metatile: [2, 4],
      access: 'operator',
    });
    await page.getByLabel('Metatile columns').fill('');
    await page.getByRole('button', { name: 'Save layer' }).click();
    await page.getByRole('heading', { name: 'Parcels', level: 1 }).waitFor();
    const { document: stored } = await get<{ document: object }>('api/v1/layers/parcels');
    expect(stored).toMatchObject({ gutter: 16, access: 'operator' });
    expect(stored).not.toHaveProperty('expireCache');
    const gridSet = await get<{ levels: unknown[]; origin: string }>('api/v1/gridsets/EPSG:25832');
    expect([gridSet.levels.length, gridSet.origin]).toEqual([16, 'database']);
  });

  it('the seed form proposes the zoom that fits the extent of a layer', async () => {
    const { page } = console;
    await console.go('seed/parcels', 'Seed and truncate');
    await page.getByLabel('STYLES').waitFor();
    expect(await page.getByLabel('From zoom').inputValue()).toBe('6');
    expect(await page.getByLabel('To zoom').inputValue()).toBe('10');
    expect(await page.getByLabel('STYLES').locator('option').allInnerTexts()).toEqual([
      '(default)',
      'strong',
      'pale',
    ]);
  });

  it('the list of grid sets has their layers, and an unused one is deleted', async () => {
    const { page } = console;
    await console.go('gridsets', 'Grid sets');
    await page.getByRole('row', { name: /EPSG:25832.*parcels.*added here/ }).waitFor();
    await page.getByRole('link', { name: 'Add grid set' }).click();
    await page.getByLabel('EPSG code').fill('6543');
    await page.getByText('The server does not know EPSG:6543.').waitFor();
    await page.getByLabel('EPSG code').fill('3765');
    await page.getByText('No scheme is known for this CRS').waitFor();
    for (const [label, text] of Object.entries({
      'Min x': 451000,
      'Min y': 5060000,
      'Max x': 478000,
      'Max y': 5087000,
    }))
      await page.getByLabel(label).fill(String(text));
    await page.getByRole('button', { name: 'Save grid set' }).click();
    await page.getByRole('heading', { name: 'EPSG:3765', level: 1 }).waitFor();
    expect(await console.accessibilityFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Grid sets', level: 1 }).waitFor();
    const { gridSets } = await get<{ gridSets: { name: string }[] }>('api/v1/gridsets');
    expect(gridSets.map(({ name }) => name)).not.toContain('EPSG:3765');
    expect(console.complaints()).toEqual([]);
  });
});
