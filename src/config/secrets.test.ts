import { expect, it } from 'vitest';
import { maskSecrets } from './secrets.ts';

it('a private key is masked where upstreams has it inline', () => {
  const upstreams = { 'maps.test:443': { ca: 'public', certificate: 'public', key: 'OPEN-SESAME' } };
  const shown = maskSecrets({ upstreams }, new Set());
  expect(shown).toEqual({
    upstreams: { 'maps.test:443': { ...upstreams['maps.test:443'], key: '********' } },
  });
});
