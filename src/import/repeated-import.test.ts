import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { importCapabilities } from './import-capabilities.ts';
import { createRepeatedImport } from './repeated-import.ts';

const OPTIONS = {
  address: new URL('http://maps.example.org/wms'),
  only: null,
  gridSets: builtInGridSets().filter(({ name }) => name === 'EPSG:4326'),
};

interface Named {
  readonly name: string;
  readonly title: string;
}

function layerXml({ name, title }: Named): string {
  return `<Layer queryable="1" note='a > b'><Name>${name}</Name><Title>${title}<!-- <Layer> --></Title>
    <Abstract><![CDATA[</Layer><Layer>]]> é</Abstract></Layer>`;
}

/** Two groups in a root, the second of which has a name. */
function capabilities(one: readonly Named[], other: readonly Named[], crs: string, sequence: number): Buffer {
  return Buffer.from(`<?xml version="1.0"?><!-- <Layer> --><WMS_Capabilities version="1.3.0" updateSequence="${sequence}"><Capability>
<Request><GetMap><Format>image/png</Format></GetMap></Request><Layer><CRS>${crs}</CRS>
<Layer><Attribution><Title>one</Title></Attribution>${one.map(layerXml).join('\n')}<Layer/></Layer>
<Layer><Name>group</Name>${other.map(layerXml).join('\n\n')}<Layer></Layer></Layer></Layer></Capability></WMS_Capabilities>`);
}

const named = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), title: fc.constantFrom('', 'x', 'y') });
const list = fc.uniqueArray(named, { maxLength: 4, selector: ({ name }) => name });
const document = fc.tuple(list, list, fc.constantFrom('EPSG:4326', 'EPSG:9999'), fc.nat(3));

describe('a repeated import of capabilities', () => {
  it('has the layers and documents of one that reads all of each document', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(document, { minLength: 2, maxLength: 5 }), async (history) => {
        const read = createRepeatedImport();
        const lastDigests = new Map<string, string>();
        for (const args of history) {
          const bytes = capabilities(...args);
          const whole = await importCapabilities(bytes, OPTIONS);
          const service = await read(bytes, { ...OPTIONS, complete: (layer) => layer });
          expect(service.names).toEqual(new Set(whole.names));
          expect([...service.layers.keys()].sort()).toEqual(whole.layers.map(({ name }) => name).sort());
          expect(service.left.length > 0).toBe(args[2] === 'EPSG:9999');
          expect(service.sequence).toBe(String(args[3]));
          const { layers } = await service.documents(new Set(service.layers.keys()));
          for (const layer of whole.layers) {
            expect(layers.get(layer.name)).toEqual(layer);
            const text = JSON.stringify(layer);
            const digest = service.layers.get(layer.name) ?? '';
            expect(lastDigests.get(text) ?? digest).toBe(digest);
            lastDigests.set(text, digest);
          }
          expect(new Set(lastDigests.values()).size).toBe(lastDigests.size);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('reads only the layers that have changed, whatever the number of the document', async () => {
    const read = createRepeatedImport();
    const completed: string[] = [];
    const complete = (layer: { readonly name: string }) => {
      completed.push(layer.name);
      return layer;
    };
    const titled = (title: string) => [
      { name: 'a', title: 'A' },
      { name: 'b', title },
    ];
    const pass = async (title: string, sequence: number) => {
      completed.length = 0;
      await read(capabilities(titled(title), [], 'EPSG:4326', sequence), { ...OPTIONS, complete });
      return completed.filter((name) => name !== 'group');
    };
    expect(await pass('B', 1)).toEqual(['a', 'b']);
    expect(await pass('B', 2)).toEqual([]);
    expect(await pass('B2', 3)).toEqual(['b']);
    const service = await read(capabilities(titled('B2'), [], 'EPSG:4326', 4), { ...OPTIONS, complete });
    completed.length = 0;
    const { layers } = await service.documents(new Set(['a']));
    expect(layers.get('a')).toMatchObject({ name: 'a', title: 'A' });
    expect(completed.filter((name) => name !== 'group')).toEqual(['a']);
  });

  it.each(['<WMS_Capabilities><Layer', '<WMS_Capabilities><!-- <Layer>', '<Layer a="><Layer>', ''])(
    'refuses a document that ends early: %s',
    async (text) => {
      const whole = createRepeatedImport()(Buffer.from(text), { ...OPTIONS, complete: (layer) => layer });
      await expect(whole).rejects.toThrow(/not XML/);
    },
  );
});
