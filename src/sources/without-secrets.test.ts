import { expect, it } from 'vitest';
import { withoutSecrets } from './map-server.ts';

it.each([
  ['http://mary:pw@maps.test/wms?LAYERS=roads', 'http://maps.test/wms?LAYERS=roads'],
  ['http://maps.test/wms?api_key=k1&LAYERS=a', 'http://maps.test/wms?api_key=***&LAYERS=a'],
  ['http://maps.test/wms?Token=a&Token=b#part', 'http://maps.test/wms?Token=***'],
  [
    'http://maps.test/wms?X-Amz-Signature=s&PASSWORD=p',
    'http://maps.test/wms?X-Amz-Signature=***&PASSWORD=***',
  ],
])('the secret in %s is hidden', (address, shown) => {
  expect(withoutSecrets(new URL(address))).toBe(shown);
});
