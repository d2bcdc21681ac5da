import { z } from 'zod';
import { isSecretPath } from './secrets.ts';
import { settingsSchema } from './settings-schema.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

const reference = (key: string) => ({
  type: 'object',
  properties: { [key]: { type: 'string' } },
  required: [key],
  additionalProperties: false,
});
const SECRET_FORMS = [{ type: 'string' }, reference('env'), reference('file')];

/** JSON Schema of the configuration file, for editors and for programs that generate such files. */
export function createSettingsSchema(): JsonSchema {
  return z.toJSONSchema(settingsSchema, {
    io: 'input',
    override: ({ jsonSchema, path }) => {
      if (jsonSchema.type !== 'string' || path.at(-1) === 'propertyNames') return;
      if (!isSecretPath(path)) return;
      const { description } = jsonSchema;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
      Object.assign(jsonSchema, { anyOf: SECRET_FORMS, ...(description && { description }) });
    },
  });
}
