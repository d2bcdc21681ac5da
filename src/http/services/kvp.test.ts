import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const open = () => createTestApp({ deps: { catalog: catalogOf([layerNamed('world')]) } });

describe('requests made of names and values', () => {
  // QGIS adds `SERVICE=WMS&REQUEST=GetCapabilities` to any address that does not say `SERVICE=WMTS`.
  it.each([
    '/service/wmts',
    '/service/wmts/',
    '/service/wmts?SERVICE=WMS&REQUEST=GetCapabilities',
    '/service/wmts?&SERVICE=WMS&REQUEST=GetCapabilities',
    '/service/wmts?REQUEST=getcapabilities&SERVICE=WMS&REQUEST=GetCapabilities',
    '/service/wmts?service=wmts&request=getcapabilities&SERVICE=WMS&REQUEST=GetCapabilities',
    '/service/wmts?REQUEST=GetCapabilities&VERSION=1.0.0&SERVICE=WMS&REQUEST=GetCapabilities',
  ])('WMTS capabilities are served as QGIS requests them: %s', async (url) => {
    const { status, text } = await open().request('GET', url);
    expect(status, text).toBe(200);
    expect(text).toContain('<Capabilities ');
  });

  it('a WMTS tile requested of another service, or with two requests, is a 400', async () => {
    for (const url of [
      '/service/wmts?SERVICE=WMS&REQUEST=GetTile&LAYER=world',
      '/service/wmts?REQUEST=GetTile&REQUEST=GetCapabilities',
    ]) {
      expect((await open().request('GET', url)).status, url).toBe(400);
    }
  });

  it.each(['/service/wms', '/service/wms/', '/geowebcache/service/wms/'])(
    'a WMS request at %s is answered by address and as a form alike',
    async (path) => {
      const { request } = open();
      const query = 'SERVICE=WMS&REQUEST=GetCapabilities&VERSION=1.3.0';
      const asked = await request('GET', `${path}?${query}`);
      expect(asked.text).toContain('<WMS_Capabilities');
      const posted = await request('POST', path, { headers: FORM, body: query });
      expect([posted.status, posted.text]).toEqual([200, asked.text]);
      const both = await request('POST', `${path}?SERVICE=WMS`, { headers: FORM, body: query });
      expect(both.text).toBe(asked.text);
    },
  );

  it('a tile is served to a form', async () => {
    const body =
      'REQUEST=GetTile&LAYER=world&FORMAT=image/png&TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:0&TILEROW=0&TILECOL=0';
    const answer = await open().request('POST', '/service/wmts', { headers: FORM, body });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/png']);
  });

  it('a body other than a form is refused', async () => {
    const answer = await open().request('POST', '/service/wms', {
      headers: { 'content-type': 'text/xml' },
      body: '<GetCapabilities/>',
    });
    expect(answer.status).toBe(415);
    expect(answer.text).toContain('application/x-www-form-urlencoded');
  });
});
