import type { Bounds } from '../domain/bounds.ts';
import { childOf, childrenOf, textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import { boundsOfTexts } from '../sources/wmts-capabilities.ts';

/** A layer or group of GeoServer's catalog. */
export interface PublishedLayer {
  readonly id: string;
  /** With its workspace, e.g. `topp:states`. */
  readonly name: string;
  readonly kind: 'vector' | 'coverage' | 'group' | 'other';
  readonly title: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly advertised: boolean;
  /** Empty: none, as for groups. */
  readonly defaultStyle: string;
  /** Without the default one. */
  readonly styles: readonly string[];
  /** Null: not known. */
  readonly degrees: Bounds | null;
}

const KINDS: Readonly<Record<string, PublishedLayer['kind']>> = {
  featureType: 'vector',
  coverage: 'coverage',
};

/** The catalog, from the roots of its files (layers, resources, groups, styles, …), which refer to each other by id. */
export class GeoServerCatalog {
  readonly #byId: ReadonlyMap<string, XmlElement>;

  constructor(documents: readonly XmlElement[]) {
    this.#byId = new Map(documents.map((document) => [textIn(document, 'id'), document]));
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  published(): readonly PublishedLayer[] {
    return [...this.#byId.keys()].flatMap((id) => this.find(id) ?? []);
  }

  /** Null: there is no such layer or group. */
  find(id: string): PublishedLayer | null {
    const document = this.#byId.get(id);
    if (document?.name === 'layer') return this.#layer(id, document);
    return document?.name === 'layerGroup' ? this.#group(id, document) : null;
  }

  #layer(id: string, layer: XmlElement): PublishedLayer | null {
    const resource = this.#referred(layer, 'resource');
    if (!resource) return null;
    const namespace = this.#referred(resource, 'namespace');
    const styles = childOf(layer, 'styles');
    return {
      id,
      name: qualified(namespace && textIn(namespace, 'prefix'), textIn(resource, 'name')),
      kind: KINDS[resource.name] ?? 'other',
      title: textIn(resource, 'title'),
      description: textIn(resource, 'abstract'),
      enabled: [layer, resource].every((one) => textIn(one, 'enabled') !== 'false'),
      advertised: [layer, resource].every((one) => textIn(one, 'advertised') !== 'false'),
      defaultStyle: this.#styleName(childOf(layer, 'defaultStyle')),
      styles: (styles ? childrenOf(styles, 'style') : [])
        .map((style) => this.#styleName(style))
        .filter((name) => name !== ''),
      degrees: boxIn(resource, 'latLonBoundingBox'),
    };
  }

  #group(id: string, group: XmlElement): PublishedLayer {
    const workspace = this.#referred(group, 'workspace');
    const bounds = childOf(group, 'bounds');
    return {
      id,
      name: qualified(workspace && textIn(workspace, 'name'), textIn(group, 'name')),
      kind: 'group',
      title: textIn(group, 'title'),
      description: textIn(group, 'abstractTxt'),
      enabled: textIn(group, 'enabled') !== 'false',
      advertised: textIn(group, 'advertised') !== 'false',
      defaultStyle: '',
      styles: [],
      degrees: bounds && textIn(bounds, 'crs') === 'EPSG:4326' ? boxIn(group, 'bounds') : null,
    };
  }

  #styleName(reference: XmlElement | null): string {
    const style = reference && this.#byId.get(textIn(reference, 'id'));
    if (!style) return '';
    const workspace = this.#referred(style, 'workspace');
    return qualified(workspace && textIn(workspace, 'name'), textIn(style, 'name'));
  }

  #referred(element: XmlElement, name: string): XmlElement | null {
    const reference = childOf(element, name);
    return (reference && this.#byId.get(textIn(reference, 'id'))) ?? null;
  }
}

function qualified(workspace: string | null, name: string): string {
  return workspace ? `${workspace}:${name}` : name;
}

function boxIn(element: XmlElement, name: string): Bounds | null {
  const box = childOf(element, name);
  const bounds = box && boundsOfTexts(['minx', 'miny', 'maxx', 'maxy'].map((edge) => textIn(box, edge)));
  return bounds && bounds.minX < bounds.maxX && bounds.minY < bounds.maxY ? bounds : null;
}
