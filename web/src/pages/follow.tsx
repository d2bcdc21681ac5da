import { useState } from 'react';
import { type ApiResponse, part, send } from '../api/client.ts';
import { useAction, useApi, useResource } from '../api/use-resource.ts';
import { countText, fill, preciseTimeText, withLocalTimes } from '../format.ts';
import { ActionNotices, Button, Card, Loaded, Named, PageHead, Table } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

type Passes = ApiResponse<'GET /api/v1/follow/{name}/passes'>;
type Pass = ApiResponse<'POST /api/v1/follow/{name}/run'>;

const WORDS = TEXTS.follow;
const REFRESH_SECONDS = 10;
const FEED_STATES = {
  ok: <span className="badge done">{TEXTS.upstreams.health.healthy}</span>,
  failing: <span className="badge failed">{TEXTS.upstreams.health.failing}</span>,
};
/** Prefix of a followed map server in page addresses; names of feeds cannot contain it. */
export const FOLLOW = 'follow:';

/** The followed map servers, on the page of changes. */
export function Followed() {
  const follows = useApi('/api/v1/follow', REFRESH_SECONDS);
  return (
    <Card title={WORDS.title} aside={<span className="small quiet">{WORDS.help}</span>}>
      <Loaded resource={follows} empty={({ follow }) => follow.length === 0 && WORDS.none}>
        {({ follow }) => (
          <Table
            label={WORDS.title}
            head={[TEXTS.name, TEXTS.tasks.state, WORDS.lastPass, TEXTS.nav.layers, TEXTS.changes.pending]}
            numbers={2}
            rows={follow.map((one) => [
              one.name,
              <Named
                key="name"
                name={<a href={addressOf('changes', FOLLOW + one.name)}>{one.name}</a>}
                kind={one.type}
              />,
              <State key="state" of={one} />,
              one.lastAt === null ? TEXTS.never : preciseTimeText(one.lastAt),
              countText(one.layers),
              countText(one.pending),
            ])}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** `#/changes/follow:city`: the passes of a followed map server. */
export function PassesPage({ name }: { name: string }) {
  const isAdmin = may(useCaller(), 'admin');
  const path = `api/v1/follow/${part(name)}`;
  const passes = useResource<Passes>(isAdmin ? `${path}/passes` : null, REFRESH_SECONDS);
  const [preview, setPreview] = useState<Pass | null>(null);
  const action = useAction();
  const run = async (dryRun: boolean) => {
    const pass = await send<Pass>('POST', `${path}/run${dryRun ? '?dryRun=true' : ''}`);
    setPreview(dryRun ? pass : null);
    if (!dryRun) passes.reload();
    return fill(dryRun ? WORDS.wouldDo : WORDS.ran, { counts: countsText(pass) || TEXTS.none });
  };
  return (
    <>
      <PageHead
        title={name}
        under={WORDS.help}
        actions={
          isAdmin && (
            <>
              <Button disabled={action.busy} onClick={() => action.run(() => run(true))}>
                {WORDS.dryRun}
              </Button>
              <Button disabled={action.busy} onClick={() => action.run(() => run(false))}>
                {WORDS.run}
              </Button>
            </>
          )
        }
      />
      <ActionNotices action={action} />
      <div className="stack">
        {preview && preview.entries.length > 0 && <PassCard pass={preview} title={WORDS.dryRun} />}
        {isAdmin ? (
          <Loaded resource={passes} empty={(data) => data.passes.length === 0 && WORDS.noPasses}>
            {(data) => data.passes.map((pass) => <PassCard key={pass.at} pass={pass} />)}
          </Loaded>
        ) : (
          WORDS.forAdmins
        )}
      </div>
    </>
  );
}

function PassCard({ pass, title = preciseTimeText(pass.at) }: { pass: Pass; title?: string }) {
  return (
    <Card title={title} aside={<span className="small quiet">{countsText(pass)}</span>}>
      <Table
        label={title}
        className="snug"
        head={[WORDS.layer, WORDS.action, WORDS.detail]}
        rows={pass.entries.map(({ layer, action, detail }) => [
          `${layer} ${action}`,
          <a key="layer" href={addressOf('layers', layer)}>
            {layer}
          </a>,
          WORDS.actions[action],
          detail,
        ])}
      />
    </Card>
  );
}

/** Counts of a pass, e.g. `declared 12, marked 3`. */
function countsText({ counts }: Pass): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([action, count]) => `${WORDS.actions[action as keyof typeof WORDS.actions]} ${countText(count)}`)
    .join(', ');
}

/** The state of a feed, with its error while it fails. */
export function State({ of }: { of: { state: keyof typeof FEED_STATES; lastError: string | null } }) {
  return (
    <>
      {FEED_STATES[of.state]}
      {of.lastError !== null && <span className="small quiet block">{withLocalTimes(of.lastError)}</span>}
    </>
  );
}
