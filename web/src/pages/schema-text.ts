interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
}

/** A JSON Schema as a person would write the shape down. */
export function schemaText(schema: object, indent = ''): string {
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
  return String(given.type ?? 'anything');
}

function objectText({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : '?';
    const remark = schema.description ? `  // ${schema.description}` : '';
    return `${inner}${name}${optional}: ${schemaText(schema, inner)}${remark}`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}
