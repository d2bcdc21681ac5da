import { bytesOf, shapeOfBytes } from '../domain/area-shape.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { createPlacer } from '../domain/placed-area.ts';
import { systemClock } from '../lib/clock.ts';
import { channelToParent } from '../lib/open-thread.ts';
import { createPace } from '../lib/yielding.ts';
import { MEASURE_FILE, OUTLINE_AREA, PLACE_AREA, READ_AREA } from './area-messages.ts';
import { measureFile } from './measure-file.ts';
import { changedBoxes, readArea } from './read-area.ts';

const channel = channelToParent(errorCopier);
const placer = createPlacer(() => createPace(Infinity));

channel.handle(READ_AREA, async ({ source, srs, was, bytes }) => {
  const { shape, ...measured } = await readArea(source, srs, systemClock);
  const boxes = was === measured.srs ? changedBoxes(shapeOfBytes(bytes), shape) : null;
  return { ...measured, boxes, bytes: bytesOf(shape) };
});

channel.handle(MEASURE_FILE, ({ srs, path }) => {
  const { shape, ...measured } = measureFile(srs, path);
  return { ...measured, bytes: bytesOf(shape) };
});

channel.handle(PLACE_AREA, async ({ gridSet, srs, bytes }) => ({
  bytes: bytesOf(await placer.place(gridSet, { srs, shape: shapeOfBytes(bytes) })),
}));

channel.handle(OUTLINE_AREA, ({ gridSet, srs, bytes }) =>
  placer.outline(gridSet, { srs, shape: shapeOfBytes(bytes) }),
);
