import type { z } from 'zod';
import { isRecord, type ValuePath } from './value-path.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The keys that may stand in the map at `path`, given what `tree` has chosen where there is a choice. */
export function allowedKeys(schema: JsonSchema, tree: unknown, path: ValuePath): readonly string[] {
  const found = schemasAt(schema, tree, path);
  return [...new Set(found.flatMap((candidate) => Object.keys(candidate.properties ?? {})))];
}

function schemasAt(schema: JsonSchema, value: unknown, path: ValuePath): readonly JsonSchema[] {
  const candidates = alternatives(schema, value);
  const [step, ...rest] = path;
  if (step === undefined) return candidates;
  const inner =
    isRecord(value) || Array.isArray(value) ? (value as Record<string | number, unknown>)[step] : undefined;
  return candidates
    .map((candidate) => stepInto(candidate, step))
    .filter((next) => next !== null)
    .flatMap((next) => schemasAt(next, inner, rest));
}

function alternatives(schema: JsonSchema, value: unknown): readonly JsonSchema[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].filter(isSchema);
  if (choices.length === 0) return [schema];
  const chosen = choices.filter((choice) => isChosen(choice, value));
  return (chosen.length > 0 ? chosen : choices).flatMap((choice) => alternatives(choice, value));
}

/** Whether a constant property picks this alternative. */
function isChosen(choice: JsonSchema, value: unknown): boolean {
  if (!isRecord(value)) return false;
  const constants = Object.entries(choice.properties ?? {}).filter(
    ([, inner]) => isSchema(inner) && 'const' in inner,
  );
  return (
    constants.length > 0 && constants.every(([key, inner]) => isSchema(inner) && inner.const === value[key])
  );
}

function stepInto(schema: JsonSchema, step: string | number): JsonSchema | null {
  const next =
    typeof step === 'number'
      ? (schema.prefixItems?.[step] ?? schema.items)
      : (schema.properties?.[step] ?? schema.additionalProperties);
  return isSchema(next) ? next : null;
}

function isSchema(schema: unknown): schema is JsonSchema {
  return isRecord(schema);
}
