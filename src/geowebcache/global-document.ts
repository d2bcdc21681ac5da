import { CONTACT_FIELDS, DEFAULT_SERVICE, type ServiceDescription } from '../domain/service-description.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { type DocumentNode, leaf, nodeOf, textList } from './document-node.ts';
import { ReadWarnings, type Shape, valuesNamed } from './read-warnings.ts';
import {
  bodyProblem,
  booleanField,
  elementText,
  entriesOf,
  integerField,
  onlyChild,
  textField,
  type WireElement,
} from './wire-element.ts';

/** The fields that GeoWebCache's document has. */
type KnownService = Omit<ServiceDescription, 'inspire'>;

export interface GlobalDocument {
  readonly service: KnownService;
  readonly version: string;
  readonly identifier: string;
  readonly location: string;
}

const SHAPE: Shape = {
  serviceInformation: {
    ...valuesNamed('title description keywords fees accessConstraints'),
    serviceProvider: {
      ...valuesNamed('providerName providerSite'),
      serviceContact: valuesNamed(CONTACT_FIELDS.join(' ')),
    },
  },
  ...valuesNamed('runtimeStatsEnabled lockProvider fullWMS wmtsCiteCompliant backendTimeout'),
  ...valuesNamed('cacheBypassAllowed version identifier location'),
};
/** Settings of GeoWebCache that do not exist here: shown with its defaults, and cannot be changed. */
const DEFAULTS: Readonly<Record<string, string | number | boolean>> = {
  runtimeStatsEnabled: true,
  wmtsCiteCompliant: false,
  backendTimeout: 120,
};
const FLAGS = ['runtimeStatsEnabled', 'fullWMS', 'wmtsCiteCompliant', 'cacheBypassAllowed'];
/** Why a setting has no effect, or the setting to use instead. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  runtimeStatsEnabled: 'statistics are always kept',
  lockProvider: 'processes of one server share its locks',
  fullWMS: 'set fullWMS of a layer',
  wmtsCiteCompliant: 'WMTS follows its standard',
  backendTimeout: 'set backendTimeout of a layer, which is timeoutSeconds of its source',
  cacheBypassAllowed: 'set cacheBypassAllowed of a layer',
};

/** `<global>`: absent elements stay unchanged; `serviceInformation` replaces the whole description. Throws `request-invalid`. */
export function readGlobal(
  root: WireElement,
  now: Pick<GlobalDocument, 'version' | 'identifier' | 'location'>,
) {
  if (root.name !== 'global') throw bodyProblem(`The root must be global, not "${root.name}"`, root.place);
  for (const [name, value] of Object.entries(now)) {
    const element = onlyChild(root, name);
    if (element && elementText(element) !== value)
      throw bodyProblem(`Cannot modify read-only property "${name}"`, element.place);
  }
  const warnings = new ReadWarnings();
  warnings.ignoredOutside(root, SHAPE, {});
  const fields: typeof DEFAULTS = omitUndefined({
    ...Object.fromEntries(FLAGS.map((name) => [name, booleanField(root, name)])),
    lockProvider: textField(root, 'lockProvider'),
    backendTimeout: integerField(root, 'backendTimeout'),
  });
  for (const [name, value] of Object.entries(fields)) {
    if (value !== DEFAULTS[name]) warnings.ignored([name], WITHOUT_EFFECT[name]);
  }
  const information = onlyChild(root, 'serviceInformation');
  return { ...(information && { service: readService(information) }), warnings: warnings.all };
}

export function readService(information: WireElement): KnownService {
  const provider = onlyChild(information, 'serviceProvider');
  const contact = provider && onlyChild(provider, 'serviceContact');
  const filledText = (parent: WireElement | null, name: string) =>
    (parent && onlyChild(parent, name)?.text.trim()) || null;
  return {
    title: filledText(information, 'title') ?? DEFAULT_SERVICE.title,
    description: filledText(information, 'description') ?? '',
    keywords: (entriesOf(information, 'keywords', ['string', 'keyword']) ?? []).map(elementText),
    fees: filledText(information, 'fees'),
    accessConstraints: filledText(information, 'accessConstraints'),
    providerName: filledText(provider, 'providerName'),
    providerSite: filledText(provider, 'providerSite'),
    contact: Object.fromEntries(
      CONTACT_FIELDS.flatMap((name) => {
        const text = filledText(contact, name);
        return text === null ? [] : [[name, text]];
      }),
    ),
  };
}

export function writeGlobal({ service, version, identifier, location }: GlobalDocument): DocumentNode {
  const contact = Object.entries(service.contact).map(([name, text]) => leaf(name, text));
  return nodeOf('global', [
    nodeOf('serviceInformation', [
      leaf('title', service.title),
      leaf('description', service.description),
      textList('keywords', 'string', service.keywords),
      nodeOf('serviceProvider', [
        leaf('providerName', service.providerName),
        leaf('providerSite', service.providerSite),
        contact.length === 0 ? null : nodeOf('serviceContact', contact),
      ]),
      leaf('fees', service.fees),
      leaf('accessConstraints', service.accessConstraints),
    ]),
    ...Object.entries(DEFAULTS).map(([name, value]) => leaf(name, value)),
    leaf('version', version),
    leaf('identifier', identifier),
    leaf('location', location),
  ]);
}
