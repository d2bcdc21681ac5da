import { expect, it } from 'vitest';
import { OutOfReach } from '../lib/out-of-reach.ts';
import { errorCopier } from './error-copier.ts';

const copied = (error: unknown) => errorCopier.read(structuredClone(errorCopier.write(error)));

it('tells another process what is only away for now from what has failed', () => {
  const away = copied(new OutOfReach('The database cannot be reached now.'));
  expect(away).toBeInstanceOf(OutOfReach);
  expect(away.message).toBe('The database cannot be reached now.');
  expect(copied(new Error('broken'))).not.toBeInstanceOf(OutOfReach);
});
