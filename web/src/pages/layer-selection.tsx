import { type ReactNode, useState } from 'react';
import { type ApiResponse, fetchJson, part, problemFrom, send } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { bytesText, fill } from '../format.ts';
import { Button, Card, Input, LinkButton, Table } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { layerLink } from '../parts/task-parts.tsx';
import { addressOf } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

/** A selected layer, with the sums of its cached tiles. */
export interface ChosenLayer {
  readonly name: string;
  readonly enabled: boolean;
  readonly tiles: number;
  readonly bytes: number;
}

interface Result {
  readonly layer: string;
  readonly outcome: ReactNode;
}

const WORDS = TEXTS.layers.several;
const ACTIONS = ['seed', 'truncate', 'disable', 'enable'] as const;
type ActionName = (typeof ACTIONS)[number];
/** Limit of estimates that a question shows, because each is a request. */
const MAX_ESTIMATES = 20;
const FIRST_ZOOMS = { zoomStart: 0, zoomStop: 4 };
type Zooms = Readonly<typeof FIRST_ZOOMS>;

/** Actions on several layers: asks once, sends a request for each layer, and shows the result of each. */
export function LayerSelection(props: {
  layers: readonly ChosenLayer[];
  listed: readonly string[];
  onChoose: (names: readonly string[]) => void;
  onDone: () => void;
}) {
  const { layers, listed, onChoose, onDone } = props;
  const isAdmin = may(useCaller(), 'admin');
  const [asked, setAsked] = useState<ActionName | null>(null);
  const [busy, setBusy] = useState(false);
  const [results, setResults] = useState<readonly Result[]>([]);
  const meant = (action: ActionName) => layers.filter((layer) => isMeant(action, layer));
  const run = async (action: ActionName, zooms: Zooms) => {
    setBusy(true);
    setResults([]);
    for (const layer of meant(action)) {
      const outcome = await perform(action, layer.name, zooms).catch((error: unknown) => (
        <span className="field-error">{problemFrom(error).message}</span>
      ));
      setResults((before) => [...before, { layer: layer.name, outcome }]);
    }
    setBusy(false);
    onDone();
  };
  if (layers.length === 0 && results.length === 0) return null;
  return (
    <>
      <div className="row" role="toolbar" aria-label={WORDS.selection}>
        <span role="status">{fill(WORDS.chosen, { count: layers.length })}</span>
        {ACTIONS.filter((action) => isAdmin || !isOfAdmins(action)).map((action) => (
          <Button
            key={action}
            kind={action === 'truncate' ? 'danger' : ''}
            disabled={busy || meant(action).length === 0}
            onClick={() => setAsked(action)}
          >
            {WORDS.buttons[action]} ({meant(action).length})
          </Button>
        ))}
        {isAdmin && (
          <LinkButton
            href={`${addressOf('add')}?${new URLSearchParams(layers.map(({ name }) => ['of', name]))}`}
          >
            {TEXTS.layerParts.compose}
          </LinkButton>
        )}
        <Button onClick={() => onChoose(listed)}>{fill(WORDS.chooseAll, { count: listed.length })}</Button>
        <Button
          onClick={() => {
            onChoose([]);
            setResults([]);
          }}
        >
          {TEXTS.tasks.chooseNone}
        </Button>
      </div>
      {results.length > 0 && <Results results={results} />}
      {asked !== null && (
        <Ask
          action={asked}
          layers={meant(asked)}
          onClose={() => setAsked(null)}
          onConfirm={(zooms) => void run(asked, zooms)}
        />
      )}
    </>
  );
}

function isOfAdmins(action: ActionName): boolean {
  return action === 'disable' || action === 'enable';
}

function isMeant(action: ActionName, { enabled }: ChosenLayer): boolean {
  return isOfAdmins(action) ? enabled === (action === 'disable') : true;
}

async function perform(action: ActionName, name: string, zooms: Zooms): Promise<ReactNode> {
  if (action === 'seed') {
    const { id } = await send<{ id: number }>('POST', 'api/v1/tasks', {
      layer: name,
      type: 'seed',
      ...zooms,
    });
    return <a href={addressOf('tasks', String(id))}>#{id}</a>;
  }
  if (action === 'truncate') {
    type Truncated = ApiResponse<'POST /api/v1/layers/{layer}/truncate'>;
    const { tiles } = await send<Truncated>('POST', `api/v1/layers/${part(name)}/truncate`, {});
    return fill(TEXTS.layer.emptied, { count: tiles });
  }
  await enableLayer(name, action === 'enable');
  return action === 'enable' ? WORDS.enabled : TEXTS.schedules.off;
}

/** Replaces the declaration of the layer by the same, enabled or not. */
export async function enableLayer(name: string, enabled: boolean): Promise<void> {
  const path = `api/v1/layers/${part(name)}`;
  const { data, version } = await fetchJson<ApiResponse<'GET /api/v1/layers/{layer}'>>('GET', path);
  if (data.origin === 'file') throw new Error(WORDS.inFile);
  await send('PUT', path, { ...(data.document as object), enabled }, { version });
}

function Results({ results }: { results: readonly Result[] }) {
  return (
    <Card title={WORDS.results}>
      <Table
        label={WORDS.results}
        className="snug"
        rows={results.map(({ layer, outcome }) => [layer, layerLink(layer), outcome])}
      />
    </Card>
  );
}

function Ask(props: {
  action: ActionName;
  layers: readonly ChosenLayer[];
  onClose: () => void;
  onConfirm: (zooms: Zooms) => void;
}) {
  const { action, layers, onClose, onConfirm } = props;
  const [zooms, setZooms] = useState<Zooms>(FIRST_ZOOMS);
  const { zoomStart, zoomStop } = zooms;
  const areZoomsRight = zoomStart >= 0 && zoomStart <= zoomStop;
  const zoom = (name: keyof Zooms) => (
    <Input
      label={TEXTS.seed.zooms[name]}
      type="number"
      min={0}
      max={30}
      required
      value={zooms[name]}
      onText={(text) => setZooms({ ...zooms, [name]: Math.trunc(Number(text)) })}
    />
  );
  return (
    <Dialog
      title={fill(WORDS.titles[action], { count: layers.length })}
      verb={WORDS.buttons[action]}
      kind={action === 'truncate' || action === 'disable' ? 'danger' : 'primary'}
      ready={areZoomsRight}
      name={action === 'truncate' ? String(layers.length) : undefined}
      onConfirm={() => onConfirm(zooms)}
      onClose={onClose}
    >
      <p>{WORDS.texts[action]}</p>
      {action === 'seed' && (
        <div className="form-grid">
          {zoom('zoomStart')}
          {zoom('zoomStop')}
        </div>
      )}
      <Table
        label={TEXTS.nav.layers}
        className="snug several"
        rows={layers.map((layer) => [
          layer.name,
          layer.name,
          action === 'seed' && layers.length <= MAX_ESTIMATES && areZoomsRight ? (
            <SeedSize key="size" layer={layer.name} zooms={zooms} />
          ) : (
            sizeText(action, layer)
          ),
        ])}
      />
    </Dialog>
  );
}

function sizeText(action: ActionName, { tiles, bytes }: ChosenLayer): string {
  return action === 'truncate' ? `${fill(TEXTS.overview.tiles, { count: tiles })}, ${bytesText(bytes)}` : '';
}

/** The count of tiles of a seed in the layer's first grid set. */
function SeedSize({ layer, zooms }: { layer: string; zooms: Zooms }) {
  const request = { layer, type: 'seed', ...zooms, dryRun: true };
  const { data, problem } = useResource<{ tiles: number }>('api/v1/tasks', null, request);
  if (problem) return <span className="field-error">{problem.message}</span>;
  return (
    <span className="quiet">{data ? fill(TEXTS.overview.tiles, { count: data.tiles }) : TEXTS.loading}</span>
  );
}
