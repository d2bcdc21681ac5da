import type { SourceSettings } from '../config/driver-schemas.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { openArchiveSource } from '../sources/archive/archive-source.ts';
import { openLayerSource } from '../sources/layer/layer-source.ts';
import type { LayerReader } from '../sources/layer-reader.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { UpstreamClient } from '../sources/upstream/upstream-client.ts';
import { openWmsSource } from '../sources/wms/wms-source.ts';
import { openWmtsSource } from '../sources/wmts/wmts-source.ts';
import { openWorldSource } from '../sources/world/world-source.ts';
import { openXyzSource } from '../sources/xyz/xyz-source.ts';

export function openSource(
  source: SourceSettings,
  upstreams: UpstreamClient,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
  readLayer: LayerReader,
): TileSource {
  if (source.type === 'layer') return openLayerSource(source, { readLayer });
  if (source.type === 'world') return openWorldSource(source, { logger: log });
  if (source.type === 'archive') return openArchiveSource(source, { upstream: upstreams, clock });
  if (source.type === 'wmts') return openWmtsSource(source, { upstream: upstreams, clock });
  if (source.type === 'xyz') return openXyzSource(source, { upstream: upstreams });
  return openWmsSource(source, { upstream: upstreams });
}
