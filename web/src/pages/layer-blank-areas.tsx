import { type ApiBody, type ApiResponse, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { agoText, fill, zoomsText } from '../format.ts';
import { cornersOf } from '../map/draw-area.ts';
import { Button, Card, FoldedCopy, LinkButton, Loaded, ProblemNotice } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { addressOf } from '../route.ts';
import { TEXTS } from '../texts.ts';

type Blanks = ApiResponse<'GET /api/v1/layers/{layer}/blank-areas'>;
type Accepted = ApiBody<'POST /api/v1/layers/{layer}/blank-areas'>;

const WORDS = TEXTS.blanks;
const MAX_SUSPECTS = 10;

/** Where blank tiles are accepted, and suspect blank tiles; for operators. */
export function LayerBlankAreas({ layer }: { layer: string }) {
  const path = `api/v1/layers/${part(layer)}/blank-areas`;
  const blanks = useResource<Blanks>(path, 30);
  const action = useAction();
  const change = (method: 'POST' | 'DELETE', at: string, body?: Accepted) =>
    action.run(() => send(method, at, body).then(blanks.reload));
  const add = <LinkButton href={addressOf('seed', layer, { type: 'blank' })}>{WORDS.add}</LinkButton>;
  return (
    <Card title={WORDS.title} className="span-6" aside={add}>
      <ProblemNotice problem={action.problem} />
      <Loaded resource={blanks}>
        {({ everywhere, areas, suspects }) => (
          <div className="stack">
            {everywhere && <p className="quiet">{WORDS.everywhere}</p>}
            {!everywhere && areas.length === 0 && <p className="quiet">{WORDS.none}</p>}
            {areas.map((one, at) => (
              <div className="row entry" key={one.id ?? `file ${at}`}>
                <span>
                  {one.gridSet ?? WORDS.allGridSets}, {zoomsText(one.zoomStart, one.zoomStop)},{' '}
                  {one.area ? fill(WORDS.corners, { count: cornersOf(one.area) }) : WORDS.wholeLayer}
                  <br />
                  <span className="small quiet">
                    {one.createdAt === null
                      ? WORDS.fromFile
                      : [one.createdBy, agoText(one.createdAt), one.note].filter(Boolean).join(' · ')}
                  </span>
                </span>
                {one.id !== null && (
                  <Button
                    kind="danger"
                    title={curl('DELETE', `${path}/${one.id}`)}
                    disabled={action.busy}
                    onClick={() => change('DELETE', `${path}/${one.id}`)}
                  >
                    {TEXTS.remove}
                  </Button>
                )}
              </div>
            ))}
            {suspects.length > 0 && <p>{fill(WORDS.suspects, { count: suspects.length })}</p>}
            {suspects.slice(0, MAX_SUSPECTS).map(({ gridSet, z, tiles, at, refused }) => (
              <div className="row entry" key={`${gridSet} ${tiles[0]}`}>
                <span>
                  {gridSet}, {zoomsText(z, z)},{' '}
                  {fill(WORDS.tiles, { count: tiles.length, first: tiles[0] ?? '' })}
                  <br />
                  <span className="small quiet">
                    {refused ? WORDS.refused : WORDS.kept} · {agoText(at)}
                  </span>
                </span>
                <Button
                  title={curl('POST', path, { gridSet, tiles })}
                  disabled={action.busy}
                  onClick={() => change('POST', path, { gridSet, tiles })}
                >
                  {WORDS.accept}
                </Button>
              </div>
            ))}
            <FoldedCopy text={curl('GET', path)} label={TEXTS.tasks.curl} />
          </div>
        )}
      </Loaded>
    </Card>
  );
}
