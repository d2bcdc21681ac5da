import { expect, it } from 'vitest';
import { plainExcerpt } from './plain-excerpt.ts';

it('an excerpt of an exception report is its text, without tags, declarations and CDATA marks', () => {
  const report =
    '<?xml version="1.0"?><!DOCTYPE a SYSTEM "b"><!-- <c> --><ogc:Report xmlns="d"><e code="f"><![CDATA[a < b ]]> &amp; c</e>\n<g';
  expect(plainExcerpt(report)).toBe('a < b & c');
});

it('an excerpt of a page has neither its scripts nor control characters of a terminal', () => {
  expect(plainExcerpt('<script>x < 1</script><p>\u001b[31mout of\u0000 memory\u202e</p>')).toBe(
    '[31mout of memory',
  );
});

it('an excerpt hides passwords, named keys and query values of addresses', () => {
  const text = plainExcerpt('token=abc at http://u:pw@h/1?layers=a&code=xyz');
  expect(text).toBe('token=*** at http://h/1?layers=a&code=***');
});

it('an excerpt is at most 300 characters, and null without any text', () => {
  expect(plainExcerpt('x'.repeat(301))).toBe(`${'x'.repeat(299)}…`);
  expect(plainExcerpt('<html> \n</html>')).toBeNull();
  expect(plainExcerpt('')).toBeNull();
});
