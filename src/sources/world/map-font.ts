import { createRequire } from 'node:module';
import { createCanvas, GlobalFonts } from '@napi-rs/canvas';
import type { MeasureText, PlacedLabel } from './label-layout.ts';

const UPRIGHT = 'Tilewarden Upright';
const ITALIC = 'Tilewarden Italic';
const FILES: readonly (readonly [family: string, file: string])[] = [
  [UPRIGHT, '@fontsource/inter/files/inter-latin-500-normal.woff2'],
  [ITALIC, '@fontsource/inter/files/inter-latin-400-italic.woff2'],
];

/** The map brings its own font: a server has none, and a picture must not depend on the machine. */
export function registerMapFont(): void {
  const require = createRequire(import.meta.url);
  for (const [family, file] of FILES) {
    if (!GlobalFonts.has(family)) GlobalFonts.registerFromPath(require.resolve(file), family);
  }
}

export function mapFont(kind: PlacedLabel['kind'], size: number): string {
  return `${size}px "${kind === 'water' ? ITALIC : UPRIGHT}"`;
}

export function createTextMeasure(): MeasureText {
  const context = createCanvas(1, 1).getContext('2d');
  return (text, kind, size) => {
    context.font = mapFont(kind, size);
    return context.measureText(text).width;
  };
}
