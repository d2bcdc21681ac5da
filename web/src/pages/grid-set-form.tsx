import { useEffect, useState } from 'react';
import { type ApiResponse, curl, send } from '../api/client.ts';
import { useAction, useResource } from '../api/use-resource.ts';
import { coordinateText, countText, fill, resolutionText } from '../format.ts';
import { boundsIn, NOT_TYPED } from '../map/draw-area.ts';
import { BARE_MAP, GridDrawing } from '../map/grid-drawing.ts';
import { MapBox, useBaseMap } from '../map/map-box.tsx';
import { Button, Card, Choice, Copy, ProblemNotice, TextField } from '../parts/basics.tsx';
import { BoundsFields } from '../parts/ranges.tsx';
import { LOCALE, TEXTS } from '../texts.ts';

type Proposals = ApiResponse<'GET /api/v1/gridset-proposals'>;
type Proposal = Proposals['proposals'][number];

const WORDS = TEXTS.gridSets;
const MAX_ZOOMS = 31;
const PATH = 'api/v1/gridsets';
/** Minimum of tiles along a side at the first zoom shown: fewer do not look like a grid. */
const MIN_TILES_ALONG = 4;

/** Declares a grid set: a national scheme, or one computed from the extent of the data. May be used within another form. */
export function GridSetForm(props: {
  /** EPSG code. */
  srs: string;
  /** West, south, east, north of the data. */
  degrees?: readonly number[] | null;
  onSaved: (name: string) => unknown;
}) {
  const { degrees = null, onSaved } = props;
  const [code, setCode] = useState(props.srs);
  const [projection, setProjection] = useState('');
  const [units, setUnits] = useState<'degrees' | 'crs'>(degrees ? 'degrees' : 'crs');
  const [typed, setTyped] = useState(degrees?.map(coordinateText) ?? NOT_TYPED);
  const [scheme, setScheme] = useState(0);
  const [name, setName] = useState<string | null>(null);
  const [zooms, setZooms] = useState<string | null>(null);
  const action = useAction();
  const srs = /^\s*(?:EPSG:)?(\d{1,6})\s*$/i.exec(code)?.[1] ?? null;
  const isEmpty = typed.every((text) => text.trim() === '');
  const bounds = boundsIn({ kind: 'bounds', typed });
  const where = bounds && { [units === 'degrees' ? 'degrees' : 'extent']: bounds.join(',') };
  const query = { srs: srs ?? '', ...where, ...(projection !== '' && { projection }) };
  const offer = useResource<Proposals>(
    srs === null ? null : `api/v1/gridset-proposals?${new URLSearchParams(query)}`,
  );
  const { data } = offer;
  const proposal = data?.proposals[scheme] ?? data?.proposals[0] ?? null;
  const draft = proposal && draftOf(proposal, name, zooms);
  const save = async () => {
    if (!draft) return;
    await send('POST', PATH, draft.document);
    await onSaved(draft.document.name);
  };
  const restart = () => {
    setScheme(0);
    setName(null);
    setZooms(null);
  };
  return (
    <div className="grid tops">
      <div className="span-5 stack">
        <TextField
          label={WORDS.code}
          inputMode="numeric"
          value={code}
          error={srs === null && code !== '' ? WORDS.badCode : null}
          onText={(text) => {
            setCode(text);
            restart();
          }}
        />
        {data && data.gridSets.length > 0 && (
          <p className="small quiet">{fill(WORDS.existing, { names: data.gridSets.join(', ') })}</p>
        )}
        {data && (!data.known || projection !== '') && (
          <TextField
            label={WORDS.projection}
            help={data.known ? null : fill(WORDS.unknownCode, { code: srs ?? '' })}
            placeholder="+proj=utm +zone=32 +ellps=GRS80 +units=m"
            value={projection}
            onText={setProjection}
          />
        )}
        <Choice
          label={WORDS.units}
          value={units}
          options={{ degrees: WORDS.degrees, crs: srs === null ? WORDS.crs : `EPSG:${srs}` }}
          onChange={setUnits}
        />
        <BoundsFields
          legend={WORDS.extent}
          labels={TEXTS.seed.bounds[units === 'degrees' ? 'degrees' : 'grid-set']}
          typed={typed}
          error={!isEmpty && !bounds ? WORDS.badExtent : null}
          help={WORDS.wholeHelp}
          onTyped={(changed) => {
            setTyped(changed);
            setScheme(0);
          }}
        />
        <ProblemNotice problem={offer.problem} />
        {data && data.proposals.length === 0 && <p className="notice">{WORDS.needsExtent}</p>}
        {draft && data && (
          <>
            <Choice
              label={WORDS.scheme}
              value={String(data.proposals.indexOf(draft.proposal))}
              options={data.proposals.map((one, place) => [String(place), schemeText(one)])}
              onChange={(place) => {
                restart();
                setScheme(Number(place));
              }}
            />
            <div className="form-grid tops pairs">
              <TextField label={TEXTS.name} value={draft.document.name} onText={setName} />
              <TextField
                label={WORDS.zooms}
                help={WORDS.zoomsHelp}
                type="number"
                min={1}
                max={MAX_ZOOMS}
                value={zooms ?? String(draft.resolutions.length)}
                onText={setZooms}
              />
            </div>
            <ProblemNotice problem={action.problem} />
            <div className="row">
              <Button kind="primary" disabled={action.busy} onClick={() => action.run(save)}>
                {WORDS.save}
              </Button>
            </div>
            <Copy text={curl('POST', PATH, draft.document)} label={TEXTS.add.curl} />
          </>
        )}
      </div>
      <div className="span-7">
        {draft && (
          <GridPreview
            ladder={draft}
            query={{ document: JSON.stringify(draft.document) }}
            degrees={units === 'degrees' ? bounds : null}
          />
        )}
      </div>
    </div>
  );
}

function draftOf(proposal: Proposal, name: string | null, zooms: string | null) {
  const given = proposal.document.resolutions as readonly number[];
  const wanted = Number(zooms);
  const count = Number.isInteger(wanted) && wanted >= 1 && wanted <= MAX_ZOOMS ? wanted : given.length;
  const last = given.at(-1) ?? 1;
  const resolutions = Array.from({ length: count }, (_, z) => given[z] ?? last / 2 ** (z - given.length + 1));
  const document = { ...proposal.document, name: name ?? proposal.document.name, resolutions };
  const extent = proposal.document.extent as readonly number[];
  const tileSize = (proposal.document.tileSize ?? [256, 256]) as readonly number[];
  return { proposal, document, resolutions, extent, tileSize };
}

function schemeText({ country, publisher, covers }: Proposal): string {
  if (country === null || publisher === null) return WORDS.schemes.computed;
  const land = new Intl.DisplayNames(LOCALE, { type: 'region' }).of(country) ?? country;
  return covers ? `${publisher}, ${land}` : fill(WORDS.schemes.outside, { publisher, country: land });
}

/** The fields of a grid set by which a zoom is chosen. */
interface Ladder {
  readonly extent: readonly number[];
  readonly resolutions: readonly number[];
  readonly tileSize: readonly number[];
}

/** The extent and tiles of a grid set on a map; `query` has its parameters for `GET /api/v1/gridset-preview`. */
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
    resolutions.findIndex((resolution) => side / resolution > MIN_TILES_ALONG - 1),
  );
}

type Capabilities = ApiResponse<'POST /api/v1/import'>;
type Missing = Capabilities['missing'][number];

/** Limit of buttons; others are hidden at first. */
const MAX_SHOWN = 4;
const MAX_LAYERS = 200;

/** Buttons for the CRS of a service without a grid set; each opens a form to declare one. */
export function MissingGridSets(props: { capabilities: Capabilities; onDeclared: () => unknown }) {
  const { missing, withoutGridSet } = props.capabilities;
  const [chosen, setChosen] = useState<Missing | null>(null);
  if (missing.length === 0) return null;
  const needed = missing.filter(({ srs }) => withoutGridSet.some(({ crs }) => crs.includes(`EPSG:${srs}`)));
  const sorted = [...needed, ...missing.filter((one) => !needed.includes(one))];
  const buttons = (some: readonly Missing[]) => (
    <div className="row">
      {some.map((one) => (
        <Button
          key={one.srs}
          kind={withoutGridSet.length > 0 && one === sorted[0] ? 'primary' : ''}
          aria-pressed={one === chosen}
          onClick={() => setChosen(one === chosen ? null : one)}
        >
          {buttonText(one)}
        </Button>
      ))}
    </div>
  );
  return (
    <section className="stack" aria-label={WORDS.missing}>
      <h3>{WORDS.missing}</h3>
      <Waiting layers={withoutGridSet} />
      <p className="small quiet">{WORDS.missingHelp}</p>
      {buttons(sorted.slice(0, MAX_SHOWN))}
      {sorted.length > MAX_SHOWN && (
        <details>
          <summary>{fill(WORDS.missingMore, { count: sorted.length - MAX_SHOWN })}</summary>
          {buttons(sorted.slice(MAX_SHOWN))}
        </details>
      )}
      {chosen && (
        <Card title={WORDS.addTitle}>
          <GridSetForm
            key={chosen.srs}
            srs={String(chosen.srs)}
            degrees={chosen.degrees}
            onSaved={props.onDeclared}
          />
        </Card>
      )}
    </section>
  );
}

function buttonText({ srs, layers }: Missing): string {
  return `EPSG:${srs} · ${fill(WORDS.ofLayers, { count: layers })}…`;
}

function Waiting({ layers }: { layers: Capabilities['withoutGridSet'] }) {
  if (layers.length === 0) return null;
  return (
    <details open={layers.length <= MAX_SHOWN}>
      <summary>{fill(WORDS.needed, { count: layers.length })}</summary>
      <ul className="lines small">
        {layers.slice(0, MAX_LAYERS).map(({ name, title, crs }) => (
          <li key={name}>
            <strong>{title || name}</strong>{' '}
            <span className="quiet">
              {name} · {crs.slice(0, MAX_SHOWN).join(', ')}
              {crs.length > MAX_SHOWN && '…'}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
