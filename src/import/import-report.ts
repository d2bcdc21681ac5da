/** The element of an entry about a whole subject. */
export const WHOLE = 'all of it';

export type ImportFate = 'taken' | 'changed' | 'left out';

export interface ReportEntry {
  /** E.g. `layer topp:states`. */
  readonly subject: string;
  /** E.g. `metaInformation.keywords`. */
  readonly element: string;
  readonly fate: ImportFate;
  /** Why, or what it became; may be empty. */
  readonly what: string;
}

export class ImportReport {
  readonly entries: ReportEntry[] = [];

  /** Records the fate of the elements of one subject. */
  about(subject: string) {
    const add = (fate: ImportFate, element: string, what: string) =>
      void this.entries.push({ subject, element, fate, what });
    return {
      taken(...elements: readonly string[]): void {
        for (const element of elements) add('taken', element, '');
      },
      changed: (element: string, what: string) => add('changed', element, what),
      /** Returns null, for callers to return. */
      leftOut(element: string, what: string): null {
        add('left out', element, what);
        return null;
      },
    };
  }
}

export type SubjectReport = ReturnType<ImportReport['about']>;

export type ImportedDocument = Readonly<Record<string, unknown>> & { readonly name: string };

export interface ImportedGroup {
  readonly name: string;
  readonly title?: string;
  readonly layers: readonly string[];
}

export type AdoptBuckets = Readonly<Record<string, object>>;

export interface ImportedUser {
  readonly name: string;
  readonly role: 'admin' | 'viewer';
}

/** The result in the configuration file's form. Not validated: the schema of the configuration file does that. */
export interface Imported {
  /** Buckets that layers adopt, by name. */
  readonly adoptBuckets?: AdoptBuckets;
  readonly areas?: readonly ImportedDocument[];
  readonly gridSets: readonly ImportedDocument[];
  readonly layers: readonly ImportedDocument[];
  readonly groups?: readonly ImportedGroup[];
  /** Service metadata. */
  readonly service?: object | undefined;
  /** Body of `PUT /api/v1/quota`; null or absent: the other program has no quota. */
  readonly quota?: object | null;
  readonly users?: readonly ImportedUser[];
  readonly report: ImportReport;
}

/** Groups of which all layers are imported; without some a group would show another picture. */
export function completeGroups(
  groups: readonly ImportedGroup[],
  layers: readonly ImportedDocument[],
  report: ImportReport,
): readonly ImportedGroup[] {
  const names = new Set(layers.map(({ name }) => name));
  const refusal = ({ name, layers: members }: ImportedGroup, others: readonly ImportedGroup[]) => {
    if (names.has(name)) return 'a layer has the same name';
    if (members.length === 0) return 'has no layers';
    const missing = members.find((one) => !names.has(one) && !others.some((other) => other.name === one));
    return missing === undefined ? null : `its layer ${missing} was not imported`;
  };
  let complete = groups.filter(({ name }, at) => groups.findIndex((one) => one.name === name) === at);
  for (let count = complete.length + 1; count > complete.length; ) {
    count = complete.length;
    complete = complete.filter((group) => {
      const why = refusal(group, complete);
      if (why !== null) report.about(`group ${group.name}`).leftOut(WHOLE, why);
      return why === null;
    });
  }
  return complete;
}

export function reportUnused(
  report: ImportReport,
  kind: string,
  names: Iterable<string>,
  isUsed: (name: string) => boolean,
): void {
  for (const name of names) {
    if (!isUsed(name)) report.about(`${kind} ${name}`).leftOut(WHOLE, 'no imported layer uses it');
  }
}

/** Reports what a layer adopts, or why it adopts nothing. */
export function reportAdopted(
  about: SubjectReport,
  adopted: readonly object[] | string,
): readonly object[] | undefined {
  if (typeof adopted !== 'string') {
    const places = new Set(adopted.map((one) => Object.values(one)[1]));
    about.changed('cache', `its tiles are adopted from ${[...places].join(', ')}`);
    return adopted;
  }
  about.leftOut('cache', adopted);
  return undefined;
}

/** Keeps the first layer of each name, and reports the others. */
export function withoutTwins(
  layers: readonly ImportedDocument[],
  report: ImportReport,
): readonly ImportedDocument[] {
  const seen = new Set<string>();
  return layers.filter(({ name }) => {
    if (seen.has(name)) report.about(`layer ${name}`).leftOut(WHOLE, 'another layer has the same name');
    return seen.size < seen.add(name).size;
  });
}
