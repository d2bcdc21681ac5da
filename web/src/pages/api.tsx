import { useDeferredValue } from 'react';
import { useResource } from '../api/use-resource.ts';
import { Card, Copy, Input, Loaded, PageHead } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { changeQuery, useRoute } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { schemaText } from './schema-text.ts';

const WORDS = TEXTS.api;

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The interface's own document, to read. */
export default function Api() {
  const document = useResource<OpenApi>('api/v1/openapi.json');
  const text = useRoute().query.get('search') ?? '';
  const wanted = useDeferredValue(text.toLowerCase());
  return (
    <>
      <PageHead
        title={WORDS.title}
        actions={
          <a className="button" href="api/v1/openapi.json" target="_blank" rel="noopener">
            {WORDS.document}
          </a>
        }
      />
      <p className="quiet">{WORDS.help}</p>
      <div className="stack">
        <Input label={WORDS.filter} type="search" value={text} onText={(search) => changeQuery({ search })} />
        <Loaded resource={document}>
          {(data) =>
            groupsOf(data, wanted).map(([tag, entries]) => (
              <Card key={tag} title={tag}>
                {entries.map((entry) => (
                  <OperationView key={`${entry.method} ${entry.path}`} entry={entry} />
                ))}
              </Card>
            ))
          }
        </Loaded>
      </div>
    </>
  );
}

function groupsOf({ paths }: OpenApi, wanted: string): readonly (readonly [string, readonly Entry[]])[] {
  const groups = new Map<string, Entry[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!`${method} ${path} ${operation.summary}`.toLowerCase().includes(wanted)) continue;
      const tag = operation.tags[0] ?? '';
      groups.set(tag, [...(groups.get(tag) ?? []), { method: method.toUpperCase(), path, operation }]);
    }
  }
  return [...groups];
}

function OperationView({ entry: { method, path, operation } }: { readonly entry: Entry }) {
  const body = operation.requestBody?.content['application/json'];
  const answer = Object.entries(operation.responses).find(([status]) => status.startsWith('2'));
  const schema = answer?.[1].content?.['application/json']?.schema;
  const relative = path.slice(1);
  return (
    <details>
      <summary>
        <code>
          {method} {path}
        </code>{' '}
        <span className="quiet">{operation.summary}</span>
      </summary>
      <p className="small">{operation.description}</p>
      {operation.parameters.length > 0 && (
        <ul className="lines small" aria-label={WORDS.parameters}>
          {operation.parameters.map((parameter) => (
            <li key={`${parameter.in} ${parameter.name}`}>
              <code>{parameter.name}</code> <span className="quiet">{WORDS.where[parameter.in]}</span>{' '}
              <code>{schemaText(parameter.schema)}</code> {parameter.description}
            </li>
          ))}
        </ul>
      )}
      {body && (
        <>
          <h3>{WORDS.body}</h3>
          <pre>{schemaText(body.schema)}</pre>
        </>
      )}
      {schema && (
        <>
          <h3>
            {WORDS.answer} {answer?.[0]}
          </h3>
          <pre>{schemaText(schema)}</pre>
        </>
      )}
      {method === 'GET' && <Copy label={path} text={curl('GET', relative)} />}
    </details>
  );
}

/** As much of `openapi.json` as the pages read. */
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly description?: string;
    readonly schema: object;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
