export type ImportFate = 'taken' | 'changed' | 'left out';

export interface ReportEntry {
  /** E.g. `layer topp:states`. */
  readonly subject: string;
  /** E.g. `metaInformation.keywords`. */
  readonly element: string;
  readonly fate: ImportFate;
  /** Why, or as what; empty when there is nothing to say. */
  readonly what: string;
}

export class ImportReport {
  readonly entries: ReportEntry[] = [];

  taken(subject: string, ...elements: readonly string[]): void {
    for (const element of elements) this.entries.push({ subject, element, fate: 'taken', what: '' });
  }

  changed(subject: string, element: string, what: string): void {
    this.entries.push({ subject, element, fate: 'changed', what });
  }

  leftOut(subject: string, element: string, what: string): void {
    this.entries.push({ subject, element, fate: 'left out', what });
  }
}

export type ImportedDocument = Readonly<Record<string, unknown>> & { readonly name: string };

/** What was found, in the configuration file's form. Not checked: the configuration's reader does that. */
export interface Imported {
  readonly gridSets: readonly ImportedDocument[];
  readonly layers: readonly ImportedDocument[];
  readonly report: ImportReport;
}

/** Of several with one name the first counts. */
export function withoutTwins(
  layers: readonly ImportedDocument[],
  report: ImportReport,
): readonly ImportedDocument[] {
  const seen = new Set<string>();
  return layers.filter(({ name }) => {
    if (seen.has(name)) report.leftOut(`layer ${name}`, 'all of it', 'another layer has the same name');
    return seen.size < seen.add(name).size;
  });
}
