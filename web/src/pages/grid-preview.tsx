import { useEffect, useState } from 'react';
import type { ApiResponse } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { countText, fill, resolutionText } from '../format.ts';
import { useBaseMap } from '../map/base-map.ts';
import { BARE_MAP, GridDrawing } from '../map/grid-drawing.ts';
import { MapBox } from '../map/map-box.tsx';
import { Choice, ProblemNotice } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

const WORDS = TEXTS.gridSets;
/** At the first zoom that is shown: fewer are not seen as a grid. */
const FEWEST_ALONG = 4;

/** Enough of a grid set to choose a zoom of it. */
interface Ladder {
  readonly extent: readonly number[];
  readonly resolutions: readonly number[];
  readonly tileSize: readonly number[];
}

/** The extent and the tiles of a grid set on a map; `query` names it, as `GET /api/v1/gridset-preview` takes it. */
export function GridPreview(props: {
  query: Readonly<Record<string, string>>;
  ladder: Ladder;
  /** West, south, east, north of the data. */
  degrees?: readonly number[] | null;
}) {
  const { query, ladder } = props;
  const zooms = ladder.resolutions.length;
  const box = props.degrees?.join(',') ?? '';
  const [wanted, setWanted] = useState<number | null>(null);
  const [drawing, setDrawing] = useState<GridDrawing | null>(null);
  const zoom = Math.min(wanted ?? firstZoomOf(ladder), zooms - 1);
  const preview = useResource<ApiResponse<'GET /api/v1/gridset-preview'>>(
    `api/v1/gridset-preview?${new URLSearchParams({
      ...query,
      ...(box !== '' && { degrees: box }),
      zoom: String(zoom),
    })}`,
  );
  const base = useBaseMap(BARE_MAP.gridSet);
  const { data, problem } = preview;
  useEffect(() => {
    if (data) drawing?.show(data.outline ?? [], data.tiles ?? []);
  }, [drawing, data]);
  useEffect(() => drawing?.showData(box === '' ? null : box.split(',').map(Number)), [drawing, box]);
  return (
    <div className="stack">
      <div className="row">
        <Choice
          label={WORDS.previewZoom}
          value={String(zoom)}
          options={Array.from({ length: zooms }, (_, z) => String(z))}
          onChange={(chosen) => setWanted(Number(chosen))}
        />
        {data && (
          <span className="small quiet" role="status">
            {fill(WORDS.previewTiles, {
              columns: countText(data.columns),
              rows: countText(data.rows),
              resolution: resolutionText(data.resolution),
            })}
          </span>
        )}
      </div>
      <MapBox
        set={BARE_MAP}
        base={base}
        label={WORDS.previewMap}
        onReady={(map) => setDrawing(new GridDrawing(map))}
      />
      <ProblemNotice problem={problem} />
      {data && data.outline === null && <p className="notice warn small">{WORDS.noPlace}</p>}
      {data && data.outline !== null && data.tiles === null && <p className="small quiet">{WORDS.tooMany}</p>}
    </div>
  );
}

function firstZoomOf({ extent, resolutions, tileSize }: Ladder): number {
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = extent;
  const [width = 1, height = 1] = tileSize;
  const side = Math.max((maxX - minX) / width, (maxY - minY) / height);
  return Math.max(
    0,
    resolutions.findIndex((resolution) => side / resolution > FEWEST_ALONG - 1),
  );
}
