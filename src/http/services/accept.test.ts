import { describe, expect, it } from 'vitest';
import { chooseMediaType } from '../negotiate.ts';

const OFFERED = ['image/png', 'image/jpeg', 'image/webp'];

describe('the Accept header', () => {
  it.each([
    [undefined, 'image/png'],
    ['', 'image/png'],
    ['*/*', 'image/png'],
    ['image/*', 'image/png'],
    ['image/jpeg', 'image/jpeg'],
    ['IMAGE/JPEG', 'image/jpeg'],
    ['image/png;q=0.5, image/webp', 'image/webp'],
    ['image/png; q=0.5 , image/webp;q=0.4', 'image/png'],
    ['image/png;q=0, */*', 'image/jpeg'],
    ['image/png;q=0, image/*;q=0.1', 'image/jpeg'],
    ['text/html, image/*;q=0.2', 'image/png'],
    ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 'image/webp'],
    ['image/png;level=9', 'image/png'],
    ['image/jpeg;q=nonsense, image/webp;q=0.1', 'image/webp'],
    ['text/html', null],
    ['*/*;q=0', null],
    ['image/png;q=-1', null],
    [',,;;q', null],
  ])('the Accept header %s chooses %s', (accept, chosen) => {
    expect(chooseMediaType(accept, OFFERED)).toBe(chosen);
  });
});
