import { changedBoxes, readArea } from '../catalog/read-area.ts';
import { SettingsError } from '../config/settings-error.ts';
import { bytesOf, shapeOfBytes } from '../domain/area-shape.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { createPlacer } from '../domain/placed-area.ts';
import { systemClock } from '../lib/clock.ts';
import { channelToParent } from '../lib/open-thread.ts';
import { createPace } from '../lib/yielding.ts';
import { OUTLINE_AREA, PLACE_AREA, READ_AREA, READ_SETTINGS } from './area-messages.ts';

const channel = channelToParent(errorCopier);
// Without pauses: nothing else waits for this thread.
const placer = createPlacer(() => createPace(Infinity));

channel.handle(READ_AREA, async ({ source, srs, was, bytes }) => {
  const { shape, ...measured } = await readArea(source, srs, systemClock);
  const boxes = was === measured.srs ? changedBoxes(shapeOfBytes(bytes), shape) : null;
  return { ...measured, boxes, bytes: bytesOf(shape) };
});

channel.handle(READ_SETTINGS, async (input) => {
  // Loaded only now: shapes need none of it.
  const { loadSettings } = await import('../config/load-settings.ts');
  try {
    const { handover, configFile } = await loadSettings(input);
    return { handover, configFile };
  } catch (error) {
    if (error instanceof SettingsError) return { problems: error.problems };
    throw error;
  }
});

channel.handle(PLACE_AREA, async ({ gridSet, srs, bytes }) => ({
  bytes: bytesOf(await placer.place(gridSet, { srs, shape: shapeOfBytes(bytes) })),
}));

channel.handle(OUTLINE_AREA, ({ gridSet, srs, bytes }) =>
  placer.outline(gridSet, { srs, shape: shapeOfBytes(bytes) }),
);
