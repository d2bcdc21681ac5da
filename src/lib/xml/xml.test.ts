import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inLength } from '../../../test/fixtures/length.ts';
import { decodeXml, readLongXml, readXml } from './read-xml.ts';
import { element, writeXml } from './write-xml.ts';
import { XmlError } from './xml-element.ts';

describe('reading XML', () => {
  it('reading XML makes a tree of names, attributes, text and places', () => {
    const root = readXml(
      '<?xml version="1.0"?>\n<g:a xmlns:g="urn:x" b="1">\n  <c>x &amp; <![CDATA[<y>]]></c><!-- no --><d/>\n</g:a>',
    );
    expect(root).toMatchObject({
      name: 'a',
      children: [
        { name: 'c', text: 'x & <y>' },
        { name: 'd', text: '' },
      ],
    });
    expect(root.attributes.get('b')).toBe('1');
    expect(root.children[0]?.place).toMatchObject({ line: 3 });
  });

  it.each([
    ['an empty text', '', 'document'],
    ['plain text', 'hello', 'text data outside of root'],
    ['an open element', '<a><b></a>', 'unexpected close tag'],
    ['two roots', '<a/><b/>', 'only one root'],
    ['an unknown entity', '<a>&nbsp;</a>', 'undefined entity'],
    ['a document type', '<!DOCTYPE a><a/>', 'DOCTYPE'],
    ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', 'DOCTYPE'],
    ['an external subset', '<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a/>', 'DOCTYPE'],
    ['deep nesting', '<a>'.repeat(21) + '</a>'.repeat(21), '20 elements deep'],
    ['many elements', `<a>${'<b/>'.repeat(1000)}</a>`, '1000 elements'],
    [
      'many attributes',
      `<a ${Array.from({ length: 33 }, (_, i) => `a${i}=""`).join(' ')}/>`,
      '32 attributes',
    ],
    ['many bytes', `<a>${'x'.repeat(65_536)}</a>`, '65536 bytes'],
  ])('reading XML refuses %s and says where', (_case, text, message) => {
    const read = () => readXml(text);
    expect(read).toThrow(XmlError);
    expect(read).toThrow(message);
  });

  it('reading XML refuses an attribute too many at its place, not at the end of its tag', () => {
    const attributes = Array.from({ length: 5000 }, (_, i) => `a${i}=""`);
    const read = () => readXml(`<a\n${attributes.join('\n')}`);
    // One line for the name, one for each attribute up to the first that is too many.
    expect(read).toThrow(
      expect.objectContaining({ message: 'more than 32 attributes', place: { line: 34, column: 7 } }),
    );
  });

  it('reading XML refuses a thousandfold entity without unfolding it', () => {
    const entities = Array.from(
      { length: 20 },
      (_, i) => `<!ENTITY e${i} "${`&e${i + 1};`.repeat(10)}">`,
    ).join('');
    expect(() => readXml(`<!DOCTYPE a [${entities}]><a>&e0;</a>`)).toThrow('DOCTYPE');
  });

  it('reading XML returns what was written', () => {
    const name = fc.constantFrom('a', 'b', 'layerName');
    const text = fc.string({ unit: 'binary', maxLength: 30 });
    fc.assert(
      fc.property(name, text, text, (tag, content, attribute) => {
        const root = readXml(writeXml(element('root', [element(tag, content, { x: attribute })])));
        const expected = (value: string) =>
          value.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
        expect(root.children[0]?.text).toBe(expected(content));
        expect(root.children[0]?.attributes.get('x')).toBe(expected(attribute));
      }),
      { numRuns: inLength(40, 2000) },
    );
  });

  it('reading XML never fails without a place', () => {
    const pieces = fc.constantFrom(
      '<',
      '>',
      '/',
      'a',
      '<a>',
      '</a>',
      '&',
      ';',
      '"',
      '=',
      '<![CDATA[',
      ']]>',
      '<!--',
      '<?',
      '\u0000',
      '<!DOCTYPE',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
        try {
          readXml(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(XmlError);
        }
      }),
      { numRuns: inLength(100, 2000) },
    );
  });
});

describe('decoding XML', () => {
  it('decoding XML follows the mark, then the declaration, then UTF-8', () => {
    expect(decodeXml(Buffer.from('\ufeff<a>ä</a>', 'utf16le'))).toBe('<a>ä</a>');
    expect(decodeXml(Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>ä</a>', 'latin1'))).toContain(
      'ä',
    );
    expect(decodeXml(Buffer.from('<a>ä</a>'))).toBe('<a>ä</a>');
  });

  it.each([
    ['other encodings', Buffer.from('<?xml version="1.0" encoding="utf-7"?><a/>')],
    ['broken UTF-8', Buffer.from([0x3c, 0x61, 0xff, 0x3e])],
  ])('decoding XML refuses %s', (_case, bytes) => {
    expect(() => decodeXml(bytes)).toThrow(XmlError);
  });
});

describe('reading long XML', () => {
  const limits = { bytes: 2 ** 20, depth: 5, elements: 100_000, attributes: 5 };

  it('reading long XML handles characters of several bytes like short XML', async () => {
    const text = `<a>${'<b>ä€😀</b>'.repeat(20_000)}</a>`;
    for (const encoding of ['utf8', 'utf16le'] as const) {
      const bytes = Buffer.from(`\ufeff${text}`, encoding);
      const root = await readLongXml(bytes, limits);
      expect(new Set(root.children.map((child) => child.text))).toEqual(new Set(['ä€😀']));
      expect(root.children).toHaveLength(20_000);
    }
  });

  it('decoding XML of megabytes is done in pieces, never in one turn', async () => {
    const broken = Buffer.concat([Buffer.from(`<a>${'<b/>'.repeat(50_000)}`), Buffer.from([0xff])]);
    let read = 0;
    const reading = readLongXml(broken, limits, () => {
      read++;
      return null;
    });
    await expect(reading).rejects.toThrow('not valid utf-8');
    // The last piece has the broken byte.
    expect(read).toBeGreaterThan(40_000);
  });
});
