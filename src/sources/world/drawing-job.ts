import type { MapStyleName } from './map-style.ts';
import type { MapView } from './map-view.ts';

/** What a drawing thread is sent, and what it sends back: the pixels, or why there are none. */
export interface DrawingJob {
  readonly view: MapView;
  readonly style: MapStyleName;
}

export type DrawingResult =
  | { readonly kind: 'drawn'; readonly pixels: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'failed'; readonly message: string };
