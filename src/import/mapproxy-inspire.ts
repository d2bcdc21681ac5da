import { omitUndefined } from '../lib/omit-undefined.ts';
import type { TrackedTable } from './tracked-table.ts';

/** `inspire_md` of MapProxy's WMS, as `inspire` of `service`. */
export function mapProxyInspire(md: TrackedTable): object | undefined {
  const language = md.table('languages').text('default');
  if (language === undefined) return undefined;
  const [metadataUrl] = linksIn(md, 'metadata_url');
  const isEmbedded = md.text('type') === 'embedded';
  return omitUndefined({
    metadataUrl,
    languages: [language],
    metadata: isEmbedded ? metadataIn(md) : undefined,
  });
}

function metadataIn(md: TrackedTable): object {
  const mandatory = md.texts('mandatory_keywords');
  return omitUndefined({
    resources: linksIn(md, 'resource_locators'),
    dates: datesIn(md.table('temporal_reference')),
    conformities: md
      .tables('conformities')
      .map((one) => ({ ...citationIn(one), degree: one.text('degree') })),
    contacts: md
      .tables('metadata_points_of_contact')
      .map((one) => ({ organisation: one.text('organisation_name'), email: one.text('email') })),
    metadataDate: md.text('metadata_date'),
    mandatoryKeywords: mandatory.length > 0 ? mandatory : undefined,
    keywords: md.tables('keywords').map((one) => ({ ...citationIn(one), value: one.text('keyword_value') })),
  });
}

function citationIn(table: TrackedTable): object {
  return {
    title: table.text('title'),
    ...datesIn(table),
    uris: table.texts('uris'),
    links: linksIn(table, 'resource_locators'),
  };
}

function datesIn(table: TrackedTable): object {
  return omitUndefined({
    created: table.text('date_of_creation'),
    revised: table.text('date_of_last_revision'),
    published: table.text('date_of_publication'),
  });
}

function linksIn(table: TrackedTable, key: string): readonly object[] {
  return table
    .tables(key)
    .map((link) => omitUndefined({ url: link.text('url'), type: link.text('media_type') }));
}
