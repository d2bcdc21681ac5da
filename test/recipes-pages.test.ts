import { readdirSync, readFileSync } from 'node:fs';
import { loadAll, load as parse } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import packed from '../package.json' with { type: 'json' };
import { checkSettings } from '../src/config/check-settings.ts';
import { revealSecrets } from '../src/config/secrets.ts';
import { settingsSchema } from '../src/config/settings-schema.ts';

const recipes = new URL('../docs/recipes/', import.meta.url);
const manifests = new URL('../deploy/kubernetes/', import.meta.url);
const ENVIRONMENT = {
  GEOSERVER_PASSWORD: 'p',
  GIS_DATABASE: 'postgres://127.0.0.1/gis',
  S3_ACCESS_KEY_ID: 'i',
  S3_SECRET_ACCESS_KEY: 's',
};

function faultsOf(configuration: string, database: string | null = null): readonly unknown[] {
  const { tree, problems } = revealSecrets(parse(configuration), ENVIRONMENT, '/');
  const document = settingsSchema.parse(database ? { database, ...(tree as object) } : tree);
  return [...problems, ...checkSettings(document).problems];
}

describe('configurations of recipes', () => {
  const snippets = readdirSync(recipes).flatMap((page) =>
    [...readFileSync(new URL(page, recipes), 'utf8').matchAll(/^```yaml\n(.*?)^```/gms)].map(
      ([, snippet = '']) => [page, snippet] as const,
    ),
  );

  it.each(snippets)('the configuration in %s works when pasted', (_, snippet) => {
    expect(faultsOf(snippet)).toEqual([]);
  });
});

interface Container {
  readonly image: string;
  readonly ports?: readonly { readonly name: string }[];
  readonly volumeMounts: readonly { readonly name: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly selector: { readonly app?: string; readonly matchLabels?: { readonly app: string } };
    readonly ports: readonly { readonly targetPort: string }[];
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly template: {
      readonly metadata: { readonly labels: { readonly app: string } };
      readonly spec: {
        readonly enableServiceLinks?: boolean;
        readonly containers: readonly Container[];
        readonly volumes: readonly {
          readonly name: string;
          readonly configMap?: { readonly name: string };
        }[];
      };
    };
  };
}

describe.each(readdirSync(manifests))('Kubernetes: %s', (file) => {
  const all = loadAll(readFileSync(new URL(file, manifests), 'utf8')) as unknown as readonly Manifest[];
  const ofKind = (...kinds: readonly string[]) => all.filter(({ kind }) => kinds.includes(kind));
  const workloads = ofKind('Deployment', 'StatefulSet');
  const [served] = workloads;

  it(`${file} has a valid configuration`, () => {
    const database = file === 'cluster.yaml' ? 'postgres://postgres/tilewarden' : null;
    const [config] = ofKind('ConfigMap');
    expect(faultsOf(config?.data['tilewarden.yaml'] ?? 'none', database)).toEqual([]);
  });

  it(`${file} names the image of this version`, () => {
    const names = workloads.flatMap(({ spec }) => spec.template.spec.containers.map(({ image }) => image));
    expect(new Set(names)).toEqual(new Set([`registry.example.org/tilewarden:${packed.version}`]));
  });

  it(`${file} selects pods and ports that exist`, () => {
    for (const { spec } of workloads) {
      expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
    }
    const [service] = ofKind('Service');
    expect(service?.spec.selector).toEqual(served?.spec.template.metadata.labels);
    const ports = served?.spec.template.spec.containers.flatMap(({ ports = [] }) => ports);
    expect(ports?.map(({ name }) => name)).toEqual(service?.spec.ports.map(({ targetPort }) => targetPort));
  });

  it(`${file} mounts volumes that exist`, () => {
    const configMaps = ofKind('ConfigMap').map(({ metadata }) => metadata.name);
    for (const { spec } of workloads) {
      const { volumes, containers } = spec.template.spec;
      const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
      const names = [...volumes.map(({ name }) => name), ...claims].sort();
      const mounted = containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
      expect(mounted.sort()).toEqual(names);
      expect(volumes.flatMap(({ configMap }) => configMap?.name ?? [])).toEqual(configMaps);
    }
  });

  it(`${file} disables service links, whose variables would be read as settings`, () => {
    expect(workloads.map(({ spec }) => spec.template.spec.enableServiceLinks)).toEqual(
      workloads.map(() => false),
    );
  });
});
