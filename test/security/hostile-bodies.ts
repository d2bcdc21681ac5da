export interface HostileBody {
  readonly title: string;
  readonly body: Buffer;
}

const KIB = 1024;

/** Known attacks on parsers of XML, JSON and forms, none longer than the limit of bodies. */
export function hostileBodies(canaryFile: string, canaryUrl: string): readonly HostileBody[] {
  const doctype = (inner: string, use: string) =>
    `<?xml version="1.0"?><!DOCTYPE seedRequest [${inner}]><seedRequest><name>${use}</name></seedRequest>`;
  const laughs = Array.from({ length: 10 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join(
    '',
  );
  const texts: Record<string, string> = {
    'an external file': doctype(`<!ENTITY x SYSTEM "file://${canaryFile}">`, '&x;'),
    'an external address': doctype(`<!ENTITY x SYSTEM "${canaryUrl}/entity">`, '&x;'),
    'a parameter entity': doctype(`<!ENTITY % x SYSTEM "${canaryUrl}/parameter"> %x;`, ''),
    'an external DTD': `<!DOCTYPE seedRequest SYSTEM "${canaryUrl}/dtd"><seedRequest/>`,
    'a public DTD': `<!DOCTYPE truncateLayer PUBLIC "a" "${canaryUrl}/dtd"><truncateLayer/>`,
    XInclude: `<seedRequest xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file://${canaryFile}" parse="text"/></seedRequest>`,
    'a schema location': `<x xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a ${canaryUrl}/schema"/>`,
    'a style sheet': `<?xml-stylesheet href="${canaryUrl}/style"?><x/>`,
    'a billion laughs': doctype(`<!ENTITY l0 "lol">${laughs}`, '&l10;'),
    'one long entity many times': doctype(`<!ENTITY a "${'a'.repeat(20 * KIB)}">`, '&a;'.repeat(5000)),
    'two DOCTYPEs': '<!DOCTYPE a><!DOCTYPE seedRequest [<!ENTITY x "y">]><seedRequest/>',
    'numeric references': `<seedRequest><name>${'&#x41;'.repeat(9000)}</name></seedRequest>`,
    'unknown entities': `<seedRequest><name>${'&nbsp;'.repeat(9000)}</name></seedRequest>`,
    'deep XML': `${'<a>'.repeat(8000)}${'</a>'.repeat(8000)}`.slice(0, 60 * KIB),
    'many attributes': `<seedRequest ${Array.from({ length: 7000 }, (_, i) => `a${i}=""`).join(' ')}/>`,
    'many elements': `<seedRequest>${'<a/>'.repeat(15_000)}</seedRequest>`,
    'an unclosed comment': '<seedRequest><!--',
    'an unclosed CDATA section': '<seedRequest><![CDATA[',
    'a prototype in XML': '<__proto__><constructor>1</constructor></__proto__>',
    'deep JSON lists': '['.repeat(60_000),
    'deep JSON objects': '{"a":'.repeat(12_000),
    'a deep field': `{"seedRequest":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    'a prototype': '{"__proto__":{"role":"admin"},"constructor":{"prototype":{"role":"admin"}}}',
    'a prototype in a field':
      '{"tileQuotaConfiguration":{"__proto__":{"enabled":true},"globalQuota":{"__proto__":1}}}',
    'numbers without end': `{"seedRequest":{"zoomStop":${'9'.repeat(50_000)}}}`,
    'a number too large': '{"seedRequest":{"zoomStop":1e999,"threadCount":-1e999}}',
    'a lone surrogate': '{"seedRequest":{"type":"\\ud800"}}',
    'a null byte': '{"seedRequest":{"type":"\u0000"}}',
    'an unclosed string': `{"a":"${'\\'.repeat(50_000)}`,
    'many fields': `{${Array.from({ length: 5000 }, (_, i) => `"a${i}":1`).join(',')}}`,
    'a form with many fields': Array.from({ length: 8000 }, (_, i) => `a${i}=1`).join('&'),
    'a form with a prototype': '__proto__[role]=admin&constructor.prototype.role=admin&kill_all=__proto__',
    'a form of percent signs': '%'.repeat(60_000),
    'a script': '<script>alert(1)</script>',
    'a template': `\${7*7} {{7*7}} \${jndi:ldap://127.0.0.1/a} '; drop table users; --`,
    nothing: '',
  };
  const bytes: Record<string, Buffer> = {
    'an external file in UTF-16': Buffer.from(`\ufeff${texts['an external file']}`, 'utf16le'),
    'bytes that are no text': Buffer.from(Array.from({ length: 4096 }, (_, i) => 128 + (i % 128))),
    'a compressed bomb': Buffer.from('H4sIAAAAAAAAA+3BAQ0AAADCoPdPbQ8HFAAAAAAAAAAAAAAA', 'base64'),
    'a BOM': Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]),
  };
  return [
    ...Object.entries(texts).map(([title, text]) => ({ title, body: Buffer.from(text) })),
    ...Object.entries(bytes).map(([title, body]) => ({ title, body })),
  ];
}
