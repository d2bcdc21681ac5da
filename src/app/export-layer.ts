import { z } from 'zod';
import type { Settings } from '../config/settings.ts';
import { VISITS_PER_TURN } from '../domain/area-cover.ts';
import { misconfigured } from '../domain/errors.ts';
import type { ExportOptions, ExportResult } from '../export/export-tiles.ts';
import { withTaskShape } from '../http/api/areas.ts';
import { checkBody } from '../http/api/read-body.ts';
import { refuseUnknownNames, taskDraftOf } from '../http/api/task-document.ts';
import { NAMED_AREA_FIELDS } from '../http/api/values.ts';
import type { Env } from '../lib/env.ts';
import { createPace } from '../lib/yielding.ts';
import { planTask } from '../tasks/plan-task.ts';
import { exportTo, partOf } from './exporter.ts';
import { openCache } from './open-cache.ts';
import { whileOpen } from './opened.ts';

type Order = Parameters<typeof taskDraftOf>[0] & { readonly layer: string };

/** Copies the cached tiles of a tile set into a file, also while a server runs on the data folder. `geoJson` is unchecked. */
export function exportLayer(
  settings: Settings,
  work: Order & Pick<ExportOptions, 'target' | 'signal' | 'onProgress'> & { readonly geoJson: object },
  tools: Env,
): Promise<ExportResult> {
  return whileOpen(async (open) => {
    const { geoJson, target, signal, onProgress, layer, ...order } = work;
    const { catalog } = await openCache(settings, { ...tools, readOnly: true }, open);
    const named = checkBody(geoJson, z.strictObject(NAMED_AREA_FIELDS));
    const { areas } = settings;
    const drawn = await withTaskShape(layer, { ...order, ...named }, { areas, catalog });
    const archive = { type: 'mbtiles', parameters: {} } as const;
    const draft = { layer, archive, ...taskDraftOf(drawn) };
    refuseUnknownNames(catalog, draft);
    const pace = createPace(VISITS_PER_TURN);
    const planned = await planTask(draft, { layer: (name) => catalog.layer(name), maxThreadCount: 1, pace });
    if (planned.tiles.bypass) throw misconfigured(otherDeclaration(layer));
    const part = partOf(planned.tiles, planned.request, planned.cover);
    return exportTo(target, planned.tiles, { ...part, signal, onProgress });
  });
}

function otherDeclaration(layer: string): string {
  const fault = `The server of this data folder has another declaration of layer ${layer}, and no tiles of this one`;
  return `${fault}: give the server's configuration with --config.`;
}
