import { useEffect, useMemo, useRef, useState } from 'react';
import { type ApiResponse, curl, fetchJson, isRefusal, part, problemFrom } from '../api/client.ts';
import { reloadChanged, useAction, useResource, useRested } from '../api/use-resource.ts';
import { bytesText, countText, fill } from '../format.ts';
import { MapBox } from '../map/map-box.tsx';
import { type LayerInfo, type TileSet, tileSetFrom } from '../map/tile-set.ts';
import {
  Button,
  Card,
  Choice,
  CodeField,
  Copy,
  Input,
  Loaded,
  ProblemNotice,
  TextField,
} from '../parts/basics.tsx';
import { addressOf, goTo } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { type Declaration, DeclarationFields } from './declaration-fields.tsx';
import { faultsFrom } from './work-plan.ts';

const WORDS = TEXTS.add;
const NO_WISHES = new URLSearchParams();

type Change = ApiResponse<'PUT /api/v1/layers/{layer}'>;

/** The effect on cached tiles of saving a text, and the administrator's choice for them. */
interface Effect extends Pick<Change, 'tiles'> {
  readonly text: string;
  /** Count of tile sets that the layer no longer offers. */
  readonly orphaned: number;
  readonly choice: keyof typeof WORDS.tileChoices;
}

/** Edits, previews and saves the declaration of a layer. */
export function DeclarationEditor(props: {
  document: Declaration;
  /** The version that is replaced; null for a new layer. */
  version: string | null;
  /** Another user has saved another version, which `document` is to become. */
  onStale?: () => void;
  /** Grid sets that the layer needs and that are to be declared with it. */
  gridSets?: readonly Declaration[];
  /** Scrolls the editor into view and focuses its first field as soon as it is shown. */
  opensItself?: boolean;
}) {
  const [text, setText] = useState(() => JSON.stringify(props.document, null, 2));
  const [shown, setShown] = useState(props.document);
  const action = useAction();
  const { document, fault: unreadable } = useMemo(() => parsed(text), [text]);
  const path = props.version === null ? 'api/v1/layers' : `api/v1/layers/${part(props.document.name)}`;
  const method = props.version === null ? 'POST' : 'PUT';
  const initialText = useMemo(() => JSON.stringify(props.document, null, 2), [props.document]);
  // Not with grid sets to declare: the server does not know them yet, and would refuse a dry run.
  const isChecked = document !== null && text !== initialText && !props.gridSets?.length;
  const check = useResource<Change>(isChecked ? `${path}?dryRun=true` : null, null, document ?? {}, method);
  const refusal = check.problem && isRefusal(check.problem) ? check.problem.message : null;
  const fault = unreadable ?? refusal;
  const isPending = isChecked && check.data === null && check.problem === null;
  const write = (changed: string) => {
    setText(changed);
    const { document: valid } = parsed(changed);
    if (valid) setShown(valid);
  };
  const base = useRef(props);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another version is a reason
  useEffect(() => {
    if (props.version === base.current.version) return;
    if (document)
      write(JSON.stringify(withChanges(props.document, base.current.document, document), null, 2));
    base.current = props;
  }, [props.version]);
  const type = (changed: string) => {
    action.forget();
    write(changed);
  };
  const change = (fields: object) => type(JSON.stringify({ ...shown, ...fields }, null, 2));
  const [effect, setEffect] = useState<Effect | null>(null);
  const isShown = effect?.text === text;
  const editor = useRef<HTMLDivElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const faults = refusal === null ? {} : faultsFrom(refusal);
  useEffect(() => {
    if (!props.opensItself) return;
    editor.current?.scrollIntoView({ block: 'start' });
    editor.current?.querySelector('input')?.focus({ preventScroll: true });
  }, [props.opensItself]);
  const save = async () => {
    if (!document) return;
    if (props.version !== null && !isShown) {
      const { tiles, tileSets } = (await fetchJson<Change>(method, `${path}?dryRun=true`, document)).data;
      const { orphaned } = tileSets;
      if (tiles.affected + orphaned > 0) return setEffect({ text, tiles, orphaned, choice: tiles.default });
    }
    const address = isShown ? `${path}?tiles=${effect.choice}` : path;
    const saved = saveLayer(method, address, document, props.gridSets ?? [], props.version);
    await (props.onStale ? saved.catch(reloadChanged(props.onStale)) : saved);
    goTo(addressOf('layers', document.name));
  };
  return (
    <div className="grid" ref={editor}>
      <Card title={WORDS.declaration} className="span-6">
        <form className="stack" ref={form} onSubmit={(event) => event.preventDefault()}>
          <fieldset className="stack" disabled={document === null}>
            <div className="form-grid tops pairs">
              <TextField
                label={TEXTS.name}
                value={shown.name}
                error={faults.name ?? null}
                disabled={props.version !== null}
                onText={(name) => change({ name })}
              />
              <Input
                label={TEXTS.layers.orders.name}
                value={String(shown.title ?? '')}
                onText={(title) => change({ title: title || undefined })}
              />
            </div>
            <DeclarationFields document={shown} faults={faults} onChange={change} />
          </fieldset>
          <CodeField label={WORDS.json} rows={18} value={text} aria-invalid={fault !== null} onText={type} />
          <a className="small" href="docs/settings.html#layers" target="_blank" rel="noopener">
            {WORDS.keys}
          </a>
          {fault !== null && (
            <p className="small field-error" role="alert">
              {fault}
            </p>
          )}
          <ProblemNotice problem={action.problem} />
          {isShown && <TileFate effect={effect} onChoose={(choice) => setEffect({ ...effect, choice })} />}
          <div className="row">
            <Button
              kind={isShown ? 'danger' : 'primary'}
              disabled={fault !== null || isPending || action.busy}
              onClick={() => form.current?.reportValidity() && action.run(save)}
            >
              {isShown ? WORDS.saveAnyway : WORDS.save}
            </Button>
          </div>
          {document && fault === null && <Copy text={curl(method, path, document)} label={WORDS.curl} />}
        </form>
      </Card>
      <Card title={WORDS.preview} className="span-6 pinned">
        <Preview document={shown} needed={props.gridSets ?? []} />
      </Card>
    </div>
  );
}

/** The settings that were changed from `base` to `changed`, in another version. */
function withChanges(other: Declaration, base: Declaration, changed: Declaration): Declaration {
  const settings = Object.keys({ ...base, ...changed });
  const own = settings.filter((name) => JSON.stringify(base[name]) !== JSON.stringify(changed[name]));
  return { ...other, ...Object.fromEntries(own.map((name) => [name, changed[name]])) };
}

/** Lets the administrator choose what happens to cached tiles, which show the former declaration. */
function TileFate(props: { effect: Effect; onChoose: (choice: Effect['choice']) => void }) {
  const { tiles, orphaned, choice } = props.effect;
  return (
    <div className="notice warn stack" role="alert">
      {tiles.affected > 0 && (
        <fieldset>
          <legend>{fill(WORDS.affected, { count: tiles.affected, bytes: bytesText(tiles.bytes) })}</legend>
          {(Object.keys(WORDS.tileChoices) as Effect['choice'][]).map((one) => (
            <label key={one} className="check">
              <input
                type="radio"
                name="tiles"
                checked={one === choice}
                onChange={() => props.onChoose(one)}
              />
              {WORDS.tileChoices[one]}
            </label>
          ))}
        </fieldset>
      )}
      {orphaned > 0 && <span>{fill(WORDS.orphaned, { sets: countText(orphaned) })}</span>}
    </div>
  );
}

/** The map as the server would draw it, a moment after the last change; until then the former one. It caches nothing. */
function Preview({ needed, ...props }: { document: Declaration; needed: readonly Declaration[] }) {
  const document = useRested(props.document);
  const shown = JSON.stringify(previewed(document));
  const offer = useResource<Pick<LayerInfo, 'gridSets' | 'formats' | 'extensions' | 'parameters'>>(
    isBlank(document) ? null : `api/v1/preview?${new URLSearchParams({ document: shown })}`,
  );
  const [gridSet, setGridSet] = useState('');
  const [failed, setFailed] = useState('');
  const [last, setLast] = useState<TileSet | null>(null);
  const set = useMemo((): TileSet | null => {
    if (!offer.data) return null;
    const layer = { ...offer.data, name: 'preview' } as LayerInfo;
    const found = tileSetFrom(layer, new URLSearchParams({ gridSet })) ?? tileSetFrom(layer, NO_WISHES);
    return found && { ...found, preview: shown };
  }, [offer.data, shown, gridSet]);
  // Keeps the last set while the next one is loading. React renders again before it shows anything.
  if (set && set !== last) setLast(set);
  if (offer.problem && needed.length > 0) return <p className="notice small">{WORDS.previewLater}</p>;
  if (isBlank(document)) return <p className="empty">{WORDS.previewBlank}</p>;
  if (!last) return <Loaded resource={offer}>{() => null}</Loaded>;
  return (
    <div className="stack">
      <ProblemNotice problem={offer.problem} />
      <Choice
        label={TEXTS.layer.gridSet}
        value={last.gridSet.name}
        options={last.layer.gridSets.map(({ name }) => name)}
        onChange={setGridSet}
      />
      <MapBox set={last} label={WORDS.previewMap} events={{ onTileFailed: () => setFailed(shown) }} />
      {failed === shown && <p className="notice warn small">{WORDS.previewFailed}</p>}
    </div>
  );
}

/** Whether the source does not name layers or parts yet. */
function isBlank({ source }: Declaration): boolean {
  const { layers, of } = (source ?? {}) as { readonly layers?: unknown; readonly of?: unknown };
  return layers === '' || (Array.isArray(of) && of.length === 0);
}

/** The fields that affect the picture; they are part of the address of each tile. */
function previewed({ name, source, formats, gridSets, ...others }: Declaration): object {
  const { within, background, minScale, maxScale } = others;
  const firstFormat = Array.isArray(formats) ? formats.slice(0, 1) : formats;
  return { name, source, formats: firstFormat, gridSets, within, background, minScale, maxScale };
}

/** HTTP status for a name that is in use. */
const TAKEN = 409;

/** Declares the `gridSets` that the layer names, unless they exist, then the layer, which replaces `version` if given. */
export async function saveLayer(
  method: 'POST' | 'PUT',
  path: string,
  layer: Declaration,
  gridSets: readonly Declaration[],
  version: string | null = null,
): Promise<void> {
  const text = JSON.stringify(layer);
  for (const gridSet of gridSets.filter(({ name }) => text.includes(JSON.stringify(name)))) {
    await fetchJson('POST', 'api/v1/gridsets', gridSet).catch((error: unknown) => {
      if (problemFrom(error).status !== TAKEN) throw error;
    });
  }
  await fetchJson(method, path, layer, { version });
}

function parsed(text: string): { readonly document: Declaration | null; readonly fault: string | null } {
  try {
    const value: unknown = JSON.parse(text);
    const named = typeof value === 'object' && value !== null && 'name' in value;
    return named
      ? { document: value as Declaration, fault: null }
      : { document: null, fault: WORDS.notNamed };
  } catch (error) {
    return { document: null, fault: fill(WORDS.notJson, { reason: problemFrom(error).message }) };
  }
}
