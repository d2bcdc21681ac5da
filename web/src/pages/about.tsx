import type { Answer } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { timeText } from '../format.ts';
import { Card, Facts, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

/** Written in by the build. */
declare const LICENCES: readonly Record<'name' | 'version' | 'licence', string>[];

const WORDS = TEXTS.about;

export default function About() {
  const about = useResource<Answer<'/api/v1/about'>>('api/v1/about');
  const nodes = useResource<Answer<'/api/v1/nodes'>>('api/v1/nodes');
  return (
    <>
      <PageHead title={TEXTS.nav.about} />
      <div className="grid">
        <Card className="span-12">
          <Loaded resource={about}>
            {({ version, node, startedAt }) => (
              <Facts
                of={[
                  [WORDS.version, version],
                  [WORDS.node, node],
                  [WORDS.started, timeText(startedAt)],
                ]}
              />
            )}
          </Loaded>
          <p>{WORDS.licence}</p>
          <p className="quiet">{WORDS.map}</p>
        </Card>
        <Card title={WORDS.nodes} className="span-12">
          <Loaded resource={nodes}>
            {(data) => (
              <Table
                label={WORDS.nodes}
                head={[TEXTS.name, WORDS.roles, WORDS.version, TEXTS.tasks.started, WORDS.seen]}
              >
                {data.nodes.map(({ name, roles, version, startedAt, seenAt, leader }) => (
                  <tr key={`${name} ${startedAt}`}>
                    <td>{name}</td>
                    <td>{[...roles, ...(leader ? [WORDS.leader] : [])].join(', ')}</td>
                    <td>{version}</td>
                    <td>{timeText(startedAt)}</td>
                    <td>{timeText(seenAt)}</td>
                  </tr>
                ))}
              </Table>
            )}
          </Loaded>
        </Card>
        <Card title={WORDS.parts} className="span-12">
          <Table label={WORDS.parts} head={[WORDS.part, WORDS.version, WORDS.partLicence]}>
            {LICENCES.map(({ name, version, licence }) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{version}</td>
                <td>{licence}</td>
              </tr>
            ))}
          </Table>
        </Card>
      </div>
    </>
  );
}
