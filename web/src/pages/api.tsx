import { useDeferredValue } from 'react';
import type { z } from 'zod';
import { useResource } from '../api/use-resource.ts';
import { Card, Copy, Input, LinkButton, Loaded, PageHead } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { changeQuery, useRoute } from '../route.ts';
import { TEXTS } from '../texts.ts';

type Schema = z.core.JSONSchema.JSONSchema;

const WORDS = TEXTS.api;

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export default function Api() {
  const document = useResource<OpenApi>('api/v1/openapi.json');
  const text = useRoute().query.get('search') ?? '';
  const search = useDeferredValue(text.toLowerCase());
  return (
    <>
      <PageHead
        title={TEXTS.nav.api}
        actions={
          <LinkButton href="api/v1/openapi.json" target="_blank" rel="noopener">
            {WORDS.document}
          </LinkButton>
        }
      />
      <p className="quiet">{WORDS.help}</p>
      <div className="stack">
        <Input
          label={TEXTS.layers.search}
          type="search"
          value={text}
          onText={(search) => changeQuery({ search })}
        />
        <Loaded resource={document}>
          {(data) =>
            groupsOf(data, search).map(([tag, entries]) => (
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

function groupsOf({ paths }: OpenApi, search: string): readonly (readonly [string, readonly Entry[]])[] {
  const groups = new Map<string, Entry[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!`${method} ${path} ${operation.summary}`.toLowerCase().includes(search)) continue;
      const tag = operation.tags[0] ?? '';
      groups.set(tag, [...(groups.get(tag) ?? []), { method: method.toUpperCase(), path, operation }]);
    }
  }
  return [...groups];
}

function OperationView({ entry: { method, path, operation } }: { entry: Entry }) {
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
        <ul className="lines small" aria-label={TEXTS.layer.parameters}>
          {operation.parameters.map((parameter) => (
            <li key={`${parameter.in} ${parameter.name}`}>
              <code>{parameter.name}</code> <span className="quiet">{WORDS.where[parameter.in]}</span>{' '}
              <code>{schemaText(parameter.schema)}</code> {parameter.description}
            </li>
          ))}
        </ul>
      )}
      {body && shape(WORDS.body, body.schema)}
      {schema && shape(`${WORDS.answer} ${answer?.[0]}`, schema)}
      {method === 'GET' && <Copy label={path} text={curl('GET', relative)} />}
    </details>
  );
}

function shape(title: string, schema: object) {
  return (
    <>
      <h3>{title}</h3>
      <pre>{schemaText(schema)}</pre>
    </>
  );
}

type Content = Readonly<Record<string, { readonly schema: object }>>;

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
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** A JSON Schema in the notation of TypeScript. */
function schemaText(schema: object | boolean, indent = ''): string {
  const given = schema as Schema;
  if (given.enum) return given.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (given.const !== undefined) return JSON.stringify(given.const);
  if (given.anyOf) return given.anyOf.map((one) => schemaText(one, indent)).join(' | ');
  if (given.prefixItems) return `[${given.prefixItems.map((one) => schemaText(one, indent)).join(', ')}]`;
  if (given.items) return `[${schemaText(given.items, indent)}, …]`;
  if (given.properties) return objectText(given, indent);
  if (typeof given.additionalProperties === 'object') {
    return `{ name: ${schemaText(given.additionalProperties, indent)}, … }`;
  }
  return String(given.type ?? WORDS.anyValue);
}

function objectText({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : '?';
    const remark = typeof schema === 'object' && schema.description ? `  // ${schema.description}` : '';
    return `${inner}${name}${optional}: ${schemaText(schema, inner)}${remark}`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}
