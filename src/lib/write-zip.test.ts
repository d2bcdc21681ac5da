import { inflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { writeZip } from './write-zip.ts';

it('a ZIP file has one entry that its directory leads to', () => {
  const content = Buffer.from('<kml/>'.repeat(100));
  const zip = writeZip('döc.kml', content);
  const end = zip.subarray(-22);
  expect(end.readUInt32LE(0)).toBe(0x06054b50);
  const directory = zip.subarray(end.readUInt32LE(16), end.readUInt32LE(16) + end.readUInt32LE(12));
  expect(directory.toString('utf8', 46)).toBe('döc.kml');
  const start = directory.readUInt32LE(42);
  const dataAt = start + 30 + zip.readUInt16LE(start + 26) + zip.readUInt16LE(start + 28);
  const packed = zip.subarray(dataAt, dataAt + directory.readUInt32LE(20));
  expect(inflateRawSync(packed).equals(content)).toBe(true);
  expect(directory.readUInt32LE(24)).toBe(content.length);
});
