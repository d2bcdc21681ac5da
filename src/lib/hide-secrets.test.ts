import { expect, it } from 'vitest';
import { hideSecrets } from './hide-secrets.ts';

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
