import { expect, it } from 'vitest';
import { hideKeys, hideSecrets } from './hide-secrets.ts';

it.each([
  ['postgres://ada:pw@db/tiles', 'postgres://ada:***@db/tiles'],
  ['postgres://db/tiles?user=ada&password=pw', 'postgres://db/tiles?user=ada&password=***'],
  ['http://t.test/{z}/{x}/{y}.png?api_key=k#x', 'http://t.test/{z}/{x}/{y}.png?api_key=***'],
  ['No map at GET /wms?LAYERS=a&AuthKey=k HTTP', 'No map at GET /wms?LAYERS=a&AuthKey=*** HTTP'],
  ['{"token":"abc","layer":"a"}', '{"token":"***","layer":"a"}'],
  [
    '<ServiceException>The key is wrong.</ServiceException>',
    '<ServiceException>The key is wrong.</ServiceException>',
  ],
])('hides what is secret in %s', (text, shown) => {
  expect(hideSecrets(text)).toBe(shown);
});

it.each([
  ['http://t.test/wms?map=/a.map&app_code=k&LAYERS=b', 'http://t.test/wms?map=/a.map&app_code=***&LAYERS=b'],
  ['http://ada:pw@t.test/wms?ticket=t&lk', 'http://t.test/wms?ticket=***&***'],
  [
    'http://t.test/v4/0a1b2c3d4e5f6a7b8c9d/{z}/{x}/{y}.png?s={s}',
    'http://t.test/v4/***/{z}/{x}/{y}.png?s={s}',
  ],
  ['http://t.test/geoserver/gwc/service/wmts', 'http://t.test/geoserver/gwc/service/wmts'],
])('keeps of the address %s what no credential can be', (address, shown) => {
  expect(hideKeys({ source: { url: [address], vendorParameters: { gkt: 'k', map: 'm' } } })).toEqual({
    source: { url: [shown], vendorParameters: { gkt: '***', map: 'm' } },
  });
});
