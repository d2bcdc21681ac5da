import type { ApiBody } from '../api/client.ts';

/** GeoJSON. */
export type Shape = Exclude<NonNullable<ApiBody<'POST /api/v1/tasks'>['area']>, string>;
export type Corners = NonNullable<ApiBody<'POST /api/v1/tasks'>['bounds']>;

/** Degrees around boxes, so that points and lines are visible. */
const MARGIN = 0.001;

export function rectangleOf(corners: Corners): Shape {
  return { type: 'Polygon', coordinates: ringsOf(corners) };
}

/** In degrees. */
export function boxesOf(boxes: readonly (readonly number[])[]): Shape {
  const coordinates = boxes.map(([minX = 0, minY = 0, maxX = 0, maxY = 0]) =>
    ringsOf([minX - MARGIN, minY - MARGIN, maxX + MARGIN, maxY + MARGIN]),
  );
  return { type: 'MultiPolygon', coordinates };
}

function ringsOf([minX, minY, maxX, maxY]: Corners): [number, number][][] {
  const ring: [number, number][] = [
    [minX, minY],
    [maxX, minY],
    [maxX, maxY],
    [minX, maxY],
    [minX, minY],
  ];
  return [ring];
}
