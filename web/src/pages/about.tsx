import { useApi } from '../api/use-resource.ts';
import { timeText } from '../format.ts';
import { Card, Facts, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

/** Licences of bundled packages, inserted by the build. */
declare const LICENCES: readonly Record<'name' | 'version' | 'licence', string>[];

const WORDS = TEXTS.about;

export default function About() {
  const about = useApi('/api/v1/about');
  const nodes = useApi('/api/v1/nodes');
  return (
    <>
      <PageHead title={TEXTS.nav.about} />
      <div className="grid">
        <Card>
          <Loaded resource={about}>
            {({ version, node, startedAt, proxies }) => (
              <Facts
                of={[
                  [WORDS.version, version],
                  [WORDS.node, node],
                  [WORDS.started, timeText(startedAt)],
                  [WORDS.proxies, [proxies.http, proxies.https].filter(Boolean).join(', ') || '–'],
                ]}
              />
            )}
          </Loaded>
          <p>
            {WORDS.licence} <a href="docs/">{TEXTS.documentation}</a>
          </p>
          <p className="quiet">{WORDS.map}</p>
        </Card>
        <Card title={WORDS.nodes}>
          <Loaded resource={nodes}>
            {(data) => (
              <Table
                label={WORDS.nodes}
                head={[TEXTS.name, WORDS.roles, WORDS.version, WORDS.started, WORDS.seen]}
                rows={data.nodes.map(({ name, roles, version, startedAt, seenAt, leader }) => {
                  const does = [...roles, ...(leader ? [WORDS.leader] : [])].join(', ');
                  return [`${name} ${startedAt}`, name, does, version, timeText(startedAt), timeText(seenAt)];
                })}
              />
            )}
          </Loaded>
        </Card>
        <Card title={WORDS.parts}>
          <Table
            label={WORDS.parts}
            head={[WORDS.part, WORDS.version, WORDS.partLicence]}
            rows={LICENCES.map(({ name, version, licence }) => [name, name, version, licence])}
          />
        </Card>
      </div>
    </>
  );
}
