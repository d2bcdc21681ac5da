import { formatOf } from '../domain/format.ts';
import { childrenNamed, type WireElement } from '../geowebcache/wire-element.ts';
import type { SubjectReport } from './import-report.ts';

interface SourceFields {
  readonly requestFormat?: string;
  readonly bgColor?: string;
}

const REASONS: Readonly<Record<string, string>> = {
  transparent: 'the background is transparent by the source and the format of tiles',
  compressionQuality: 'the quality of JPEG is fixed',
  palette: 'write PALETTE=… into vendorParameters',
};

/** `formatModifiers` of a layer: GeoWebCache's request format for each format of tiles. Here all tiles have one request format. */
export function importFormatModifiers(
  layer: WireElement,
  formats: readonly string[],
  about: SubjectReport,
): SourceFields {
  const modifiers = childrenNamed(layer, 'formatModifiers').flatMap(({ children }) => children);
  if (modifiers.length === 0) return {};
  const requestFormats = new Set(formats.map((format) => requestedFor(format, modifiers)));
  const [only = ''] = requestFormats;
  const requestFormat = requestFormats.size === 1 && formatOf(only)?.kind === 'raster' ? only : undefined;
  const colours = new Set(modifiers.flatMap((one) => textsOf(one, 'bgColor')));
  const [bgColor] = colours.size === 1 ? colours : [];
  const path = 'formatModifiers.formatModifier';
  if (requestFormat !== undefined) {
    about.changed(
      `${path}.requestFormat`,
      `the source is asked for ${requestFormat}, whatever the tiles are`,
    );
  } else {
    const why = 'one format is asked for tiles of every format: set requestFormat of the source to it';
    about.leftOut(`${path}.requestFormat`, why);
  }
  if (bgColor !== undefined) about.changed(`${path}.bgColor`, 'is the background of every format');
  const read = ['responseFormat', 'requestFormat', ...(bgColor === undefined ? [] : ['bgColor'])];
  const others = modifiers.flatMap(({ children }) => children).filter(({ name }) => !read.includes(name));
  for (const name of new Set(others.map((one) => one.name))) {
    about.leftOut(`${path}.${name}`, REASONS[name] ?? 'has no counterpart');
  }
  return { ...(requestFormat !== undefined && { requestFormat }), ...(bgColor !== undefined && { bgColor }) };
}

function requestedFor(format: string, modifiers: readonly WireElement[]): string {
  const modifier = modifiers.find((one) =>
    textsOf(one, 'responseFormat').some((text) => formatOf(text)?.mediaType === format),
  );
  const requestedName = modifier && textsOf(modifier, 'requestFormat')[0];
  return requestedName === undefined ? format : (formatOf(requestedName)?.mediaType ?? requestedName);
}

function textsOf(element: WireElement, name: string): readonly string[] {
  return childrenNamed(element, name).map(({ text }) => text.trim());
}
