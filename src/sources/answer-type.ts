import { TilewardenError } from '../domain/errors.ts';

/** A server answers with the type that was asked for. What is no image is left for the gate to name. */
export function checkAnswerType(mediaType: string | null, asked: string): void {
  if (!mediaType?.startsWith('image/') || plainType(mediaType) === plainType(asked)) return;
  throw new TilewardenError(
    'source-bad-answer',
    'The map source sent an image of another type than was asked for.',
    { reason: 'wrong-type', cause: new Error(`asked for ${asked}, got ${mediaType}`) },
  );
}

/** `image/png; mode=8bit`, `image/png8` and `image/x-png` are all `image/png`. */
function plainType(mediaType: string): string {
  const type = (mediaType.split(';')[0] ?? '').trim().toLowerCase().replace('image/x-', 'image/');
  return type.replace(/^image\/png\d+$/, 'image/png').replace(/^image\/p?jpe?g$/, 'image/jpeg');
}
