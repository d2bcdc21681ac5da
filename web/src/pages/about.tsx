import type { Answer } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { timeText } from '../format.ts';
import { Card, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

/** Written in by the build. */
declare const LICENCES: readonly {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}[];

const WORDS = TEXTS.about;

export default function About() {
  const about = useResource<Answer<'/api/v1/about'>>('api/v1/about');
  return (
    <>
      <PageHead title={WORDS.title} />
      <div className="grid">
        <Card className="span-12">
          <Loaded resource={about}>
            {(data) => (
              <dl className="facts">
                <dt>{WORDS.version}</dt>
                <dd>{data.version}</dd>
                <dt>{WORDS.node}</dt>
                <dd>{data.node}</dd>
                <dt>{WORDS.started}</dt>
                <dd>{timeText(data.startedAt)}</dd>
              </dl>
            )}
          </Loaded>
          <p>{WORDS.licence}</p>
          <p className="quiet">{WORDS.map}</p>
        </Card>
        <Nodes />
        <Card title={WORDS.parts} className="span-12">
          <Table label={WORDS.parts} head={[WORDS.part, WORDS.partVersion, WORDS.partLicence]}>
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

function Nodes() {
  const nodes = useResource<Answer<'/api/v1/nodes'>>('api/v1/nodes');
  const words = WORDS.nodes;
  return (
    <Card title={words.title} className="span-12">
      <Loaded resource={nodes}>
        {(data) => (
          <Table
            label={words.title}
            head={[words.name, words.roles, WORDS.version, words.started, words.seen]}
          >
            {data.nodes.map(({ name, roles, version, startedAt, seenAt, leader }) => (
              <tr key={`${name} ${startedAt}`}>
                <td>{name}</td>
                <td>{[...roles, ...(leader ? [words.leader] : [])].join(', ')}</td>
                <td>{version}</td>
                <td>{timeText(startedAt)}</td>
                <td>{timeText(seenAt)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Loaded>
    </Card>
  );
}
