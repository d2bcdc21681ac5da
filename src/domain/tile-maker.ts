/** The id of the task that made a tile; `MADE_BY_REQUEST`: somebody asked for it; null: not known. */
export type TileMaker = number | null;

/** Tasks count from 1. */
export const MADE_BY_REQUEST = 0;
