import type { SKRSContext2D } from '@napi-rs/canvas';
import type { Graticule } from './graticule.ts';
import { projectLatitude } from './map-projection.ts';
import type { MapStyle } from './map-style.ts';
import type { MapView } from './map-view.ts';

export function paintGraticule(
  context: SKRSContext2D,
  view: MapView,
  style: MapStyle,
  graticule: Graticule,
): void {
  const north = -projectLatitude(view.projection, 90) / view.resolutionY - view.top;
  const south = -projectLatitude(view.projection, -90) / view.resolutionY - view.top;
  const top = Math.max(0, north);
  const bottom = Math.min(view.height, south);
  for (const { degrees, at } of graticule.meridians) {
    context.fillStyle = degrees % 360 === 0 ? style.mainLines : style.graticule;
    if (bottom > top) context.fillRect(at, top, 1, bottom - top);
  }
  for (const { degrees, at } of graticule.parallels) {
    context.fillStyle = degrees === 0 ? style.mainLines : style.graticule;
    context.fillRect(0, at, view.width, 1);
  }
}
