import { expect, it } from 'vitest';
import { hideCredentials, hideKeys, hideSecrets } from './hide-secrets.ts';

it.each([
  ['postgres://ada:pw@db/tiles', 'postgres://ada:***@db/tiles'],
  ['postgres://db/tiles?user=ada&password=pw', 'postgres://db/tiles?user=ada&password=***'],
  ['http://t.test/{z}/{x}/{y}.png?api_key=k#x', 'http://t.test/{z}/{x}/{y}.png?api_key=***'],
  ['No map at GET /wms?LAYERS=a&AuthKey=k HTTP', 'No map at GET /wms?LAYERS=a&AuthKey=*** HTTP'],
  ['no access with Authorization: Basic dTpwdw==, sorry', 'no access with Authorization: Basic ***, sorry'],
  ['denied (bearer abc.def-123)', 'denied (bearer ***)'],
  ['{"token":"abc","layer":"a"}', '{"token":"***","layer":"a"}'],
  [
    '<ServiceException>The key is wrong.</ServiceException>',
    '<ServiceException>The key is wrong.</ServiceException>',
  ],
])('the secret in %s is hidden', (text, shown) => {
  expect(hideSecrets(text)).toBe(shown);
});

it.each([
  [
    'cannot open /maps/wms?app_code=k1&LAYERS=b as asked',
    'cannot open /maps/wms?app_code=***&LAYERS=b as asked',
  ],
  ['GET wms?ticket=k1 and image/png', 'GET wms?ticket=*** and image/png'],
  ['see http://t.test/wms?gkt=k1, or Basic dTpwdw==', 'see http://t.test/wms?gkt=*** or Basic ***'],
])("the credentials of an address in a server's answer are hidden: %s", (text, shown) => {
  expect(hideCredentials(text)).toBe(shown);
});

it.each([
  ['http://t.test/wms?map=/a.map&app_code=k&LAYERS=b', 'http://t.test/wms?map=/a.map&app_code=***&LAYERS=b'],
  ['http://ada:pw@t.test/wms?ticket=t&lk', 'http://t.test/wms?ticket=***&***'],
  [
    'http://t.test/v4/0a1b2c3d4e5f6a7b8c9d/{z}/{x}/{y}.png?s={s}',
    'http://t.test/v4/***/{z}/{x}/{y}.png?s={s}',
  ],
  ['http://t.test/geoserver/gwc/service/wmts', 'http://t.test/geoserver/gwc/service/wmts'],
])('the address %s keeps its parts that cannot be credentials', (address, shown) => {
  expect(hideKeys({ source: { url: [address], vendorParameters: { gkt: 'k', map: 'm' } } })).toEqual({
    source: { url: [shown], vendorParameters: { gkt: '***', map: 'm' } },
  });
});
