import { expect, it } from 'vitest';
import { numberAtEnd, replaceSections, type SectionRules, trimEndOf } from './scan-text.ts';

it('the end of a text is cut at the last character that is not wanted away', () => {
  expect(trimEndOf('http://a/?b&&?', /[?&]/)).toBe('http://a/?b');
  expect(trimEndOf('???', /[?&]/)).toBe('');
});

it('the number at the end of a name is read whatever comes before it', () => {
  expect(numberAtEnd('urn:ogc:def:crs:EPSG::25832')).toBe(25832);
  expect(numberAtEnd('EPSG:25832 ')).toBeNull();
});

const BRACKETS: SectionRules = {
  open: /[[(]/g,
  closeOf: (open) => (open === '[' ? /\]/g : null),
  replace: (inner, open) => `${open}${inner.length}`,
};

it('sections are replaced, an open one to the end, and a mark without a section stays', () => {
  expect(replaceSections('a [bc] d (e) [f', BRACKETS)).toBe('a [2 d (e) [1');
  expect(replaceSections('plain', BRACKETS)).toBe('plain');
});
