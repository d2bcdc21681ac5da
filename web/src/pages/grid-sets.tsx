import { type ApiResponse, curl, part, send } from '../api/client.ts';
import { useAction, useApi, useResource } from '../api/use-resource.ts';
import { countText, extentText, fill, resolutionText } from '../format.ts';
import { ActionNotices, Card, Facts, LinkButton, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { LayerLinks } from '../parts/task-parts.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { GridPreview, GridSetForm } from './grid-set-form.tsx';

type Listed = ApiResponse<'GET /api/v1/gridsets'>['gridSets'][number];
type Shown = ApiResponse<'GET /api/v1/gridsets/{gridSet}'>;

const WORDS = TEXTS.gridSets;
const MAX_NAMED = 5;

/** `#/gridsets`: the list; `#/gridsets/NAME`: a grid set; `#/gridsets?new=25832`: a form, with an optional EPSG code. */
export default function GridSets() {
  const { item, query } = useRoute();
  const code = query.get('new');
  if (item !== '') return <GridSetPage key={item} name={item} />;
  return code === null ? <GridSetList /> : <NewGridSet key={code} code={code} />;
}

function NewGridSet({ code }: { code: string }) {
  return (
    <>
      <PageHead title={WORDS.addTitle} />
      <Card>
        <GridSetForm srs={code} onSaved={(name) => goTo(addressOf('gridsets', name))} />
      </Card>
    </>
  );
}

function GridSetList() {
  const listed = useApi('/api/v1/gridsets');
  const names = useResource<readonly string[]>('rest/gridsets.json');
  const isAdmin = may(useCaller(), 'admin');
  const others = (known: readonly Listed[]) =>
    names.data?.filter((name) => !known.some((one) => one.name === name)) ?? [];
  return (
    <>
      <PageHead
        title={TEXTS.nav.gridsets}
        actions={
          isAdmin && (
            <LinkButton kind="primary" href={addressOf('gridsets', '', { new: '' })}>
              {WORDS.add}
            </LinkButton>
          )
        }
      />
      <p className="quiet">{WORDS.help}</p>
      <Loaded resource={listed}>
        {({ gridSets }) => (
          <div className="stack">
            <Card>
              <Table
                label={WORDS.list}
                head={[
                  ...[TEXTS.name, WORDS.crs, WORDS.zooms, WORDS.resolutions, WORDS.extent, WORDS.usedBy],
                  WORDS.origin,
                ]}
                rows={gridSets.map(row)}
              />
            </Card>
            <BuiltIn names={others(gridSets)} />
          </div>
        )}
      </Loaded>
    </>
  );
}

function row({ name, description, srs, levels, extent, layers, layerCount, origin }: Listed) {
  return [
    name,
    <div key="name">
      <a href={addressOf('gridsets', name)}>{name}</a>
      {description !== '' && <div className="small quiet">{description}</div>}
    </div>,
    srs,
    `0–${levels.length - 1}`,
    resolutionsText(levels),
    <span key="extent" className="small">
      {extentText(extent)}
    </span>,
    <LayerLinks key="layers" names={layers} count={layerCount} most={MAX_NAMED} none={WORDS.unused} />,
    WORDS.origins[origin],
  ] as const;
}

/** Built-in grid sets, folded because most are zones of UTM. */
function BuiltIn({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <details>
      <summary>{fill(WORDS.builtIn, { count: names.length })}</summary>
      <div className="row small">
        {names.map((name) => (
          <a key={name} href={addressOf('gridsets', name)}>
            {name}
          </a>
        ))}
      </div>
    </details>
  );
}

function GridSetPage({ name }: { name: string }) {
  const gridSet = useResource<Shown>(`api/v1/gridsets/${part(name)}`);
  const isAdmin = may(useCaller(), 'admin');
  const isOwn = isAdmin && gridSet.data?.origin === 'database';
  return (
    <>
      <PageHead title={name} actions={isOwn && <Remove name={name} />} />
      <Loaded resource={gridSet}>
        {(shown) => (
          <div className="grid tops">
            <Card className="span-5">
              <Facts
                of={[
                  [WORDS.crs, shown.srs],
                  [WORDS.extent, extentText(shown.extent)],
                  [WORDS.tileSize, shown.tileSize.join(' × ')],
                  [WORDS.resolutions, resolutionsText(shown.levels)],
                  [WORDS.origin, WORDS.origins[shown.origin]],
                ]}
              />
            </Card>
            <Card title={WORDS.preview} className="span-7">
              <GridPreview
                query={{ gridSet: name }}
                ladder={{ ...shown, resolutions: shown.levels.map(({ resolution }) => resolution) }}
              />
            </Card>
            <Card title={WORDS.levels}>
              <Table
                label={WORDS.levels}
                head={[WORDS.level, TEXTS.name, WORDS.resolutions, WORDS.scale, WORDS.size]}
                numbers={3}
                rows={shown.levels.map((level, z) => [
                  z,
                  String(z),
                  level.name,
                  resolutionText(level.resolution),
                  countText(Math.round(level.scaleDenominator)),
                  `${countText(level.columns)} × ${countText(level.rows)}`,
                ])}
              />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
}

function Remove({ name }: { name: string }) {
  const action = useAction();
  const remove = async () => {
    await send('DELETE', `api/v1/gridsets/${part(name)}`);
    goTo(addressOf('gridsets'));
  };
  return (
    <>
      <ActionNotices action={action} />
      <ConfirmButton
        action={action}
        title={fill(TEXTS.removeTitle, { name })}
        verb={TEXTS.remove}
        text={WORDS.removeText}
        command={curl('DELETE', `api/v1/gridsets/${part(name)}`)}
        onConfirm={remove}
      />
    </>
  );
}

function resolutionsText(levels: Listed['levels']): string {
  const [first, last] = [levels[0]?.resolution ?? 0, levels.at(-1)?.resolution ?? 0];
  return fill(WORDS.resolution, { from: resolutionText(first), to: resolutionText(last) });
}
