import { useEffect, useMemo, useState } from 'react';
import { type ApiResponse, curl, part, problemFrom, reloadConfiguration, send } from '../api/client.ts';
import { type Action, useAction, useResource } from '../api/use-resource.ts';
import { fill } from '../format.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import {
  ActionNotices,
  Button,
  Card,
  Check,
  Copy,
  Empty,
  Form,
  Input,
  Loaded,
  Mark,
  PageHead,
  ProblemNotice,
  Table,
  TextField,
} from '../parts/basics.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { addressOf, takeInput, useRoute } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { DeclarationEditor, saveLayer } from './declaration-editor.tsx';
import type { Declaration } from './declaration-fields.tsx';
import { MissingGridSets } from './grid-set-form.tsx';

type Capabilities = ApiResponse<'POST /api/v1/import'>;

const WORDS = TEXTS.add;
const ROW_HEIGHT = 44;
const MAX_REPORTED = 500;
const STARTING_POINT: Declaration = {
  name: 'new-layer',
  source: { type: 'wms', url: 'https://', layers: '' },
  formats: ['image/png'],
  gridSets: ['EPSG:900913'],
};

/** Drawn from other layers, the first one at the bottom. */
function composedOf(layers: readonly string[]): Declaration {
  const of = layers.map((layer) => ({ layer }));
  return { ...STARTING_POINT, name: 'composed', source: { type: 'layers', of } };
}

/**
 * `#/add`: a new layer; `#/add/NAME` changes one that was declared here, `#/add?copy=NAME` begins with another,
 * `#/add?of=A&of=B` with those layers put together; after `goWith` with the capabilities of a service.
 */
export default function Add() {
  const { item, query } = useRoute();
  const copy = query.get('copy');
  if (item !== '' || copy !== null)
    return <Existing key={item + copy} name={item || (copy ?? '')} isCopy={item === ''} />;
  return <NewLayer key={String(query)} of={query.getAll('of')} />;
}

function Existing({ name, isCopy }: { name: string; isCopy: boolean }) {
  const layer = useResource<ApiResponse<'GET /api/v1/layers/{layer}'>>(`api/v1/layers/${part(name)}`);
  return (
    <>
      <PageHead title={isCopy ? fill(WORDS.copyTitle, { name }) : fill(TEXTS.editTitle, { name })} />
      <Loaded resource={layer}>
        {(data) => <Editor layer={data} version={layer.version} isCopy={isCopy} onStale={layer.reload} />}
      </Loaded>
    </>
  );
}

function Editor(props: { layer: LayerInfo; version: string | null; isCopy: boolean; onStale: () => void }) {
  const { layer, version, isCopy, onStale } = props;
  const document = layer.document as Declaration | null;
  if (!document || (!isCopy && layer.origin === 'file')) return <Empty>{WORDS.fromFile}</Empty>;
  if (!isCopy) return <DeclarationEditor document={document} version={version} onStale={onStale} />;
  const title =
    document.title === undefined ? {} : { title: fill(WORDS.copyLabel, { title: String(document.title) }) };
  const copy = { ...document, name: fill(WORDS.copyName, { name: document.name }), ...title };
  return <DeclarationEditor document={copy} version={null} />;
}

function NewLayer({ of }: { of: readonly string[] }) {
  const action = useAction();
  const [first] = useState(takeInput);
  const [url, setUrl] = useState(first);
  const [capabilities, setCapabilities] = useState<Capabilities | null>(null);
  const [selection, setSelection] = useState(of.length > 0 ? composedOf(of) : null);
  const read = async () => {
    setSelection(null);
    setCapabilities(null);
    setCapabilities(await send<Capabilities>('POST', 'api/v1/import', { url }));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address of the service is read once
  useEffect(() => {
    if (first !== '') void action.run(read);
  }, []);
  return (
    <>
      <PageHead
        title={TEXTS.nav.add}
        actions={
          <>
            <Button onClick={() => setSelection(composedOf([]))}>{TEXTS.layerParts.compose}</Button>
            <Button onClick={() => setSelection(STARTING_POINT)}>{WORDS.byHand}</Button>
          </>
        }
      />
      <div className="stack">
        <Card title={WORDS.service}>
          <Form className="stack" onSubmit={() => action.run(read)}>
            <TextField
              label={WORDS.url}
              help={WORDS.urlHelp}
              type="url"
              pattern="https?://.+"
              required
              value={url}
              placeholder="https://maps.example.org/wms"
              onText={(text) => {
                action.forget();
                setUrl(text);
              }}
            />
            <div className="row">
              <Button type="submit" kind="primary" disabled={action.busy}>
                {action.busy ? WORDS.reading : WORDS.read}
              </Button>
            </div>
            <ReadProblem problem={action.problem} onReloaded={() => action.run(read)} />
            {url !== '' && <Copy text={curl('POST', 'api/v1/import', { url })} label={WORDS.curl} />}
          </Form>
        </Card>
        {capabilities && (
          <Choices
            key={url}
            capabilities={capabilities}
            selection={selection}
            onChoose={setSelection}
            onDeclared={() => action.run(read)}
          />
        )}
        {selection && (
          <DeclarationEditor
            key={selection.name}
            document={selection}
            version={null}
            gridSets={neededBy(selection, capabilities)}
            opensItself
          />
        )}
      </div>
    </>
  );
}

/** The refusal of an address that the configuration file must allow: the reason, the file, and the line for it. */
const PRIVATE = /^(.*): (upstreams: .*)$/s;

/** Why the service cannot be read; in a private network with the line that allows it, and a button that makes it work. */
function ReadProblem({ problem, onReloaded }: Pick<Action, 'problem'> & { onReloaded: () => unknown }) {
  const action = useAction();
  const [, reason, line = ''] = PRIVATE.exec(problem?.message ?? '') ?? [];
  if (reason === undefined) return <ProblemNotice problem={problem} />;
  const reload = async () => {
    await reloadConfiguration();
    await onReloaded();
  };
  return (
    <div className="notice warn stack" role="alert">
      <span>{reason}:</span>
      <Copy text={line} label={WORDS.allowLine} />
      <span className="small">{WORDS.allowLineHelp}</span>
      <ProblemNotice problem={action.problem} />
      <Button disabled={action.busy} onClick={() => action.run(reload)}>
        {WORDS.reloadAndRead}
      </Button>
    </div>
  );
}

function neededBy(layer: Declaration, capabilities: Capabilities | null): readonly Declaration[] {
  const text = JSON.stringify(layer.gridSets ?? []);
  return capabilities?.gridSets.filter(({ name }) => text.includes(JSON.stringify(name))) ?? [];
}

function Choices(props: {
  capabilities: Capabilities;
  selection: Declaration | null;
  onChoose: (layer: Declaration) => void;
  /** A grid set was declared: more can be chosen now. */
  onDeclared: () => unknown;
}) {
  const { capabilities, selection } = props;
  const [search, setSearch] = useState('');
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const mark = (names: readonly string[], on: boolean) =>
    setMarked((before) =>
      on ? new Set([...before, ...names]) : new Set([...before].filter((name) => !names.includes(name))),
    );
  const layers = useMemo(() => {
    const words = search.toLowerCase();
    return capabilities.layers.filter(({ name, title }) =>
      `${name} ${String(title ?? '')}`.toLowerCase().includes(words),
    );
  }, [capabilities, search]);
  return (
    <Card title={fill(WORDS.found, { count: capabilities.layers.length })}>
      <div className="stack">
        <Input label={TEXTS.layers.search} type="search" value={search} onText={setSearch} />
        {layers.length === 0 && search !== '' && <Empty>{TEXTS.layers.noMatch}</Empty>}
        {layers.length > 1 && (
          <Check
            label={fill(WORDS.chooseAll, { count: layers.length })}
            checked={layers.every(({ name }) => marked.has(name))}
            onChange={(on) =>
              mark(
                layers.map(({ name }) => name),
                on,
              )
            }
          />
        )}
        <VirtualList
          items={layers.map((layer) => ({
            layer,
            on: marked.has(layer.name),
            isOpen: layer.name === selection?.name,
          }))}
          rowHeight={ROW_HEIGHT}
          label={WORDS.list}
          keyOf={({ layer }) => layer.name}
        >
          {({ layer, on, isOpen }) => (
            <div className="marked-line">
              <Mark
                label={fill(WORDS.choose, { name: layer.name })}
                checked={on}
                onChange={(checked) => mark([layer.name], checked)}
              />
              <Button kind="plain service-layer" aria-pressed={isOpen} onClick={() => props.onChoose(layer)}>
                <strong className="name">{String(layer.title ?? layer.name)}</strong>
                <span className="small quiet">{layer.name}</span>
                <span className="small quiet service-grids">{gridSetNames(layer).join(', ')}</span>
              </Button>
            </div>
          )}
        </VirtualList>
        <AddMany
          capabilities={capabilities}
          layers={capabilities.layers.filter(({ name }) => marked.has(name))}
          onAdded={(name) => mark([name], false)}
        />
        <MissingGridSets capabilities={capabilities} onDeclared={props.onDeclared} />
        <Report capabilities={capabilities} />
      </div>
    </Card>
  );
}

function gridSetNames({ gridSets = [] }: Declaration): readonly string[] {
  return (gridSets as readonly (string | { readonly name: string })[]).map((one) =>
    typeof one === 'string' ? one : one.name,
  );
}

/** Adds the marked layers as they are. One that is refused stays marked, with the reason, and the others are added. */
function AddMany(props: {
  capabilities: Capabilities;
  layers: readonly Declaration[];
  onAdded: (name: string) => void;
}) {
  const { capabilities, layers, onAdded } = props;
  const action = useAction();
  const [refused, setRefused] = useState<readonly string[]>([]);
  const add = async () => {
    const reasons: string[] = [];
    for (const layer of layers) {
      try {
        await saveLayer('POST', 'api/v1/layers', layer, neededBy(layer, capabilities));
        onAdded(layer.name);
      } catch (error) {
        reasons.push(fill(WORDS.notAdded, { name: layer.name, reason: problemFrom(error).message }));
      }
    }
    setRefused(reasons);
    return reasons.length === layers.length
      ? null
      : fill(WORDS.addedMany, { count: layers.length - reasons.length });
  };
  return (
    <>
      <div className="row">
        <Button kind="primary" disabled={layers.length === 0 || action.busy} onClick={() => action.run(add)}>
          {fill(WORDS.addMany, { count: layers.length })}
        </Button>
        {action.done !== null && <a href={addressOf('layers')}>{TEXTS.overview.allLayers}</a>}
      </div>
      <ActionNotices action={action} />
      {refused.map((text) => (
        <p key={text} className="notice bad" role="alert">
          {text}
        </p>
      ))}
    </>
  );
}

/** Notes that apply to many layers share one line. */
function Report({ capabilities }: { capabilities: Capabilities }) {
  const notes = capabilities.report.filter(({ fate }) => fate !== 'taken');
  const groups = new Map<string, { readonly note: (typeof notes)[number]; readonly subjects: Set<string> }>();
  for (const note of notes) {
    const key = JSON.stringify([note.element, note.fate, note.what]);
    const group = groups.get(key) ?? { note, subjects: new Set() };
    groups.set(key, group);
    group.subjects.add(note.subject);
  }
  if (groups.size === 0) return null;
  const subjectText = ([first = '', ...others]: readonly string[]) =>
    others.length === 0 ? first : `${first} ${fill(TEXTS.upstreams.moreLayers, { count: others.length })}`;
  return (
    <details>
      <summary>{fill(WORDS.report, { count: groups.size })}</summary>
      <Table
        label={fill(WORDS.report, { count: groups.size })}
        className="snug"
        rows={[...groups].slice(0, MAX_REPORTED).map(([key, { note, subjects }]) => {
          return [key, WORDS.fates[note.fate], subjectText([...subjects]), note.element, note.what];
        })}
      />
    </details>
  );
}
