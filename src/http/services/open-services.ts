import type { Catalog } from '../../catalog/catalog.ts';
import type { ServiceSettings } from '../../catalog/service-settings.ts';
import { DEFAULT_SERVICE } from '../../domain/service-description.ts';
import type { Surroundings } from '../../lib/surroundings.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { createLayerScreen } from '../door/layer-visibility.ts';
import { createLayerDocuments } from './layer-documents.ts';
import { createLayerRoll } from './layer-roll.ts';
import { createTileAnswerer } from './tile-answer.ts';
import { createTileMemory } from './tile-memory.ts';

export interface TileRoad extends Surroundings {
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version'>;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  /** What the service says of itself; its defaults when left out. */
  readonly service?: Pick<ServiceSettings, 'current'>;
}

export type Services = ReturnType<typeof openServices>;

/** With what all services share: how a tile is answered, which layers there are, and what is written about them. */
export function openServices(road: TileRoad) {
  const { catalog, pipeline, clock, log } = road;
  const roll = createLayerRoll(catalog);
  const answerAccepted = createTileAnswerer(pipeline, clock);
  const memory = createTileMemory(catalog, answerAccepted);
  const serviceNow = () => road.service?.current.service ?? DEFAULT_SERVICE;
  const documentOf = createLayerDocuments(roll, serviceNow);
  const screen = createLayerScreen(roll);
  return { catalog, pipeline, clock, log, roll, screen, answerAccepted, ...memory, documentOf };
}
