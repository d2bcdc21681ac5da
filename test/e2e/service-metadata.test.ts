import { expect, it } from 'vitest';
import { openServer } from './server-in-process.ts';

it('service metadata of the configuration file are in capabilities, until they are set over REST', async () => {
  const config = `
service: { title: Maps of Acme, provider: Acme, contact: { addressEmail: ann@maps.test } }
stores: { default: { type: memory } }`;
  const { url } = await openServer({ config, flags: { 'no-auth': 'true' } });
  const capabilities = async (service: string) => {
    const answer = await fetch(`${url}/service/${service}?REQUEST=GetCapabilities`, {
      headers: { connection: 'close' },
    });
    return answer.text();
  };
  for (const service of ['wms', 'wmts'])
    for (const text of ['Maps of Acme', 'Acme', 'ann@maps.test'])
      expect(await capabilities(service)).toContain(text);
  const body = '<global><serviceInformation><title>Other maps</title></serviceInformation></global>';
  const headers = { 'content-type': 'text/xml', connection: 'close' };
  expect((await fetch(`${url}/rest/global`, { method: 'PUT', body, headers })).status).toBe(200);
  expect(await capabilities('wms')).toContain('Other maps');
  expect(await capabilities('wms')).not.toContain('ann@maps.test');
});
