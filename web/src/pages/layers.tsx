import { lazy, useDeferredValue, useMemo, useState } from 'react';
import { type Answer, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { bytesText, countText } from '../format.ts';
import { Empty, Field, Loaded, PageHead } from '../parts/basics.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { addressOf, useRoute } from '../route.ts';
import { TEXTS } from '../texts.ts';

const LayerPage = lazy(() => import('./layer.tsx'));

type Summary = Answer<'/api/v1/layers'>['layers'][number];
type LayerUsage = Answer<'/api/v1/usage'>['layers'][number];

const WORDS = TEXTS.layers;
const ROW_HEIGHT = 58;

export default function Layers() {
  const { item } = useRoute();
  return item === '' ? <LayerList /> : <LayerPage key={item} name={item} />;
}

function LayerList() {
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers');
  const usage = useResource<Answer<'/api/v1/usage'>>('api/v1/usage');
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const sizes = useMemo(() => new Map(usage.data?.layers.map((layer) => [layer.name, layer])), [usage.data]);
  return (
    <>
      <PageHead title={WORDS.title} />
      <Loaded resource={layers}>
        {({ layers: all }) => {
          const found = all.filter(({ name, title }) => `${name}\n${title}`.toLowerCase().includes(wanted));
          if (all.length === 0) return <Empty>{WORDS.empty}</Empty>;
          return (
            <div className="stack">
              <div className="row">
                <Field label={WORDS.search}>
                  <input type="search" value={text} onChange={({ target }) => setText(target.value)} />
                </Field>
                <span className="quiet" role="status">
                  {WORDS.count(countText(found.length), countText(all.length))}
                </span>
              </div>
              {found.length === 0 && <Empty>{WORDS.noMatch}</Empty>}
              <VirtualList items={found} rowHeight={ROW_HEIGHT} label={WORDS.list} keyOf={({ name }) => name}>
                {(layer) => <LayerLine layer={layer} usage={sizes.get(layer.name) ?? null} />}
              </VirtualList>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

function LayerLine({ layer, usage }: { readonly layer: Summary; readonly usage: LayerUsage | null }) {
  const picture = pictureOf(layer, usage);
  return (
    <a className="layer-line" href={addressOf('layers', layer.name)}>
      {picture === null ? (
        <span className="no-picture" />
      ) : (
        <img src={picture} alt="" loading="lazy" width={40} height={40} />
      )}
      <span className="cut">
        <strong className="name">{layer.title || layer.name}</strong>
        {layer.title !== '' && layer.title !== layer.name && (
          <span className="small quiet"> {layer.name}</span>
        )}
      </span>
      <span className="cut small quiet formats">{layer.gridSets.join(', ')}</span>
      <span className="number">
        {usage ? bytesText(usage.bytes) : <span className="quiet">{WORDS.notCached}</span>}
      </span>
      <span className="number small quiet share">
        {usage && TEXTS.overview.tiles(countText(usage.tiles))}
      </span>
    </a>
  );
}

/** A tile that is in the cache already: a list of thousands must not make any. */
function pictureOf(layer: Summary, usage: LayerUsage | null): string | null {
  const set = usage?.tileSets.find(
    ({ parametersId, format, zooms }) =>
      parametersId === null &&
      format.startsWith('image/') &&
      zooms.some(({ z, tiles }) => z === 0 && tiles > 0),
  );
  if (!set || layer.access !== 'public') return null;
  const extension = set.format.replace(/^image\//, '').replace(/\d+$/, '');
  return `tiles/${part(layer.name)}/${part(set.gridSet)}/0/0/0.${extension}`;
}
