/** With and without a schema. */
const NAME = /^(?:("(?:[^"]|"")+"|[A-Za-z_][\w$]*)\.)?("(?:[^"]|"")+"|[A-Za-z_][\w$]*)$/;

export interface TableName {
  /** For statements, each part in quotation marks. */
  readonly quoted: string;
  readonly schema: string | null;
  readonly table: string;
}

/** A table's name as PostgreSQL reads it: parts without quotation marks are in lower case. Null: it is invalid. */
export function parseTableName(text: string): TableName | null {
  const [, schema, table] = NAME.exec(text) ?? [];
  if (table === undefined) return null;
  const names = { schema: schema === undefined ? null : plainName(schema), table: plainName(table) };
  const quoted = [names.schema, names.table].filter((part) => part !== null).map(quoteName);
  return { ...names, quoted: quoted.join('.') };
}

function plainName(part: string): string {
  return part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase();
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  // E'' reads backslashes independent of standard_conforming_strings.
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
