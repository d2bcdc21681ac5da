import { expect, it } from 'vitest';
import { javaFloat } from './java-number.ts';

it.each([
  [0, '0.0'],
  [-0, '0.0'],
  [5, '5.0'],
  [0.1, '0.1'],
  [-42.5, '-42.5'],
  [33.3333333, '33.333332'],
  [12345678, '1.2345678E7'],
  [16777217, '1.6777216E7'],
  [9999999, '9999999.0'],
  [0.001, '0.001'],
  [0.0005, '5.0E-4'],
  [1e-7, '1.0E-7'],
  [3.4028235e38, '3.4028235E38'],
])('the float %d is printed as Java does', (value, text) => expect(javaFloat(value)).toBe(text));
