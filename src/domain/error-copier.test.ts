import { expect, it } from 'vitest';
import { UnavailableError } from '../lib/error-code.ts';
import { errorCopier } from './error-copier.ts';
import { TilewardenError } from './errors.ts';

const copied = (error: unknown) => errorCopier.read(structuredClone(errorCopier.write(error)));

it('a copied error distinguishes the unavailable from the failed in another process', () => {
  const away = copied(new UnavailableError('The database cannot be reached now.'));
  expect(away).toBeInstanceOf(UnavailableError);
  expect(away.message).toBe('The database cannot be reached now.');
  expect(copied(new Error('broken'))).not.toBeInstanceOf(UnavailableError);
});

it('a failure of a map server reaches another process with its status, text and address', () => {
  const upstream = { status: 503, text: 'out of memory', address: 'http://maps.test/' };
  expect(copied(new TilewardenError('source-unavailable', 'Down.', { upstream }))).toMatchObject({
    upstream,
  });
});
