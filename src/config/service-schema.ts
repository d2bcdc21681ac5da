import { z } from 'zod';
import {
  CONTACT_FIELDS,
  type ContactField,
  INSPIRE_DEGREES,
  type Inspire,
  type InspireDates,
} from '../domain/service-description.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { texts } from '../lib/schemas.ts';
import { httpAddress } from '../sources/http-options.ts';

const note = z.string().max(2000);
const link = z.strictObject({
  url: httpAddress,
  type: note.default('application/vnd.iso.19139+xml').describe('Its media type'),
});
const day = z.iso.date({ error: 'must be a day such as 2026-01-31' });
const dates = { created: day.optional(), revised: day.optional(), published: day.optional() };
const hasDay = {
  holds: (given: InspireDates) => (given.created ?? given.revised ?? given.published) !== undefined,
  error: 'needs created, revised or published',
};
const citation = {
  title: note.min(1),
  ...dates,
  uris: texts.default([]),
  links: z.array(link).default([]),
};
const languageCode = z.string().regex(/^[a-z]{3}$/, 'must be three letters of ISO 639-2, e.g. ger');

const language = z.strictObject({
  code: languageCode,
  title: note.min(1).optional(),
  abstract: note.optional(),
  keywords: texts.optional(),
});

/** INSPIRE's technical guidance for view services: scenario 1 links to metadata, scenario 2 contains them. */
const inspireSchema = z
  .strictObject({
    metadataUrl: link.optional().describe('The document that describes the service'),
    languages: z
      .array(z.union([languageCode.transform((code): z.output<typeof language> => ({ code })), language]))
      .min(1)
      .describe('The default first; others with title, abstract and keywords of the service for LANGUAGE='),
    metadata: z
      .strictObject({
        resources: z.array(link).min(1).describe('Where the service is described or offered'),
        dates: z.strictObject(dates).refine(hasDay.holds, hasDay.error),
        conformities: z
          .array(
            z
              .strictObject({ ...citation, degree: z.enum(INSPIRE_DEGREES) })
              .refine(hasDay.holds, hasDay.error),
          )
          .min(1),
        contacts: z.array(z.strictObject({ organisation: note.min(1), email: note.min(1) })).min(1),
        metadataDate: day,
        mandatoryKeywords: texts.min(1).default(['infoMapAccessService']),
        keywords: z
          .array(z.strictObject({ ...citation, value: note.min(1) }).refine(hasDay.holds, hasDay.error))
          .default([])
          .describe('Of vocabularies, such as GEMET'),
      })
      .optional()
      .describe('The description itself, in the capabilities'),
  })
  .refine(({ metadataUrl, metadata }) => metadataUrl ?? metadata, {
    error: 'needs metadataUrl, metadata or both',
  })
  .transform(
    ({ languages, metadataUrl = null, metadata = null }): Inspire => ({
      metadataUrl,
      metadata,
      language: languages[0]?.code ?? '',
      languages: languages.map(({ code, title, abstract: description, keywords }) => ({
        code,
        ...omitUndefined({ title, description, keywords }),
      })),
    }),
  );

export const serviceSchema = z.strictObject({
  title: note.min(1).optional(),
  abstract: note.optional(),
  keywords: texts.optional(),
  fees: note.optional(),
  constraints: note.optional().describe('Who may use it, and for what'),
  provider: note.optional().describe('Name of the organisation'),
  site: httpAddress.optional().describe('Address of the organisation'),
  contact: z
    .strictObject(
      Object.fromEntries(CONTACT_FIELDS.map((name) => [name, note.optional()])) as Record<
        ContactField,
        z.ZodOptional<typeof note>
      >,
    )
    .default({}),
  inspire: inspireSchema.optional().describe('It is an INSPIRE view service'),
});
