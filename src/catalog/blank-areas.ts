import type { Database } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';
import type { BlankArea } from '../domain/blank-area.ts';
import { invalid } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';

export interface KeptBlankArea extends BlankArea {
  readonly id: number;
  readonly layer: string;
  /** Why, in the administrator's words. */
  readonly note: string;
  readonly createdBy: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** All of them are looked through when a picture is suspect. */
const MAX_OF_A_LAYER = 200;

/** Areas that administrators have confirmed as blank, besides those in a layer's declaration. */
export type BlankAreas = ReturnType<typeof createBlankAreas>;

/** Every process looks into the same table, and only when a picture is suspect. */
export function createBlankAreas(database: Database, clock: Pick<Clock, 'now'>) {
  const rowsOf = (layer: string) =>
    database.query.selectFrom('blank_areas').selectAll().where('layer', '=', layer).orderBy('id');
  return {
    async list(layer: string): Promise<readonly KeptBlankArea[]> {
      return (await rowsOf(layer).execute()).map(areaOf);
    },
    /** Throws `request-invalid` when the layer has too many. */
    async add(
      layer: string,
      { gridSet, zoomStart, zoomStop, area }: BlankArea,
      { note, createdBy }: Pick<KeptBlankArea, 'note' | 'createdBy'>,
    ): Promise<KeptBlankArea> {
      const document = JSON.stringify({ gridSet, zoomStart, zoomStop, area });
      const row = { layer, document, note, created_by: createdBy, created_at: clock.now() };
      return await database.transaction('blank-areas', async (query) => {
        const there = await query.selectFrom('blank_areas').select('id').where('layer', '=', layer).execute();
        if (there.length >= MAX_OF_A_LAYER) {
          throw invalid(
            `Layer ${layer} has ${MAX_OF_A_LAYER} areas already; delete some, or set blankIsRight for the layer.`,
          );
        }
        return areaOf(
          await query.insertInto('blank_areas').values(row).returningAll().executeTakeFirstOrThrow(),
        );
      });
    },
    /** The removed area; null if the layer has none with that id. */
    async remove(layer: string, id: number): Promise<KeptBlankArea | null> {
      const removal = database.change.deleteFrom('blank_areas').where('layer', '=', layer);
      const row = await removal.where('id', '=', id).returningAll().executeTakeFirst();
      return row ? areaOf(row) : null;
    },
  };
}

function areaOf(row: RowOf<'blank_areas'>): KeptBlankArea {
  return {
    ...(JSON.parse(row.document) as BlankArea),
    id: row.id,
    layer: row.layer,
    note: row.note,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}
