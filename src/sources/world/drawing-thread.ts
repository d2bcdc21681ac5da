import { errorCopier } from '../../domain/error-copier.ts';
import { channelToParent } from '../../lib/open-thread.ts';
import { DRAW } from './drawing-pool.ts';
import { MapPainter } from './map-painter.ts';

const painter = new MapPainter();

channelToParent(errorCopier).handle(DRAW, ({ view, style }) => ({
  bytes: painter.paint(view, style),
}));
