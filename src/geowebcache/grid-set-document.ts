import { coordsOf } from '../domain/bounds.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import { type DocumentNode, double, doubleList, leaf, nodeOf, textList } from './document-node.ts';
import type { ReadDocument } from './read-layer.ts';
import { ReadWarnings, type Shape, valuesNamed } from './read-warnings.ts';
import {
  bodyProblem,
  booleanField,
  coordsField,
  elementText,
  entriesOf,
  integerField,
  numberField,
  numberOf,
  onlyChild,
  present,
  srsField,
  textField,
  type WireElement,
} from './wire-element.ts';

const SHAPE: Shape = {
  ...valuesNamed('name description extent alignTopLeft resolutions scaleDenominators levels metersPerUnit'),
  ...valuesNamed('pixelSize scaleNames tileHeight tileWidth yCoordinateFirst'),
  srs: { number: null },
};
const DEFAULT_LEVELS = 18;
const DEFAULT_TILE_SIZE = 256;

/** A `gridSet`. Absent elements have GeoWebCache's defaults. Throws `request-invalid`. */
export function readGwcGridSet(root: WireElement): ReadDocument {
  if (root.name !== 'gridSet') {
    throw bodyProblem(`The root must be gridSet, not "${root.name}"`, root.place);
  }
  const warnings = new ReadWarnings();
  warnings.ignoredOutside(root, SHAPE, {});
  const width = integerField(root, 'tileWidth') ?? DEFAULT_TILE_SIZE;
  const height = integerField(root, 'tileHeight') ?? DEFAULT_TILE_SIZE;
  const document = omitUndefined({
    name: present(root, 'name', textField(root, 'name')),
    description: onlyChild(root, 'description')?.text.trim(),
    srs: present(root, 'srs', srsField(root)),
    extent: present(root, 'extent', coordsField(root, 'extent')),
    ...readScales(root),
    levelNames: entriesOf(root, 'scaleNames', ['string'])?.map(elementText),
    tileSize: [width, height],
    metersPerUnit: numberField(root, 'metersPerUnit'),
    pixelSize: numberField(root, 'pixelSize'),
    alignTopLeft: booleanField(root, 'alignTopLeft'),
    yCoordinateFirst: booleanField(root, 'yCoordinateFirst') ?? false,
  });
  return { document, warnings: warnings.all };
}

function readScales(root: WireElement): object {
  const numbers = (name: string) => entriesOf(root, name, ['double'])?.map(numberOf);
  const resolutions = numbers('resolutions');
  if (resolutions) return { resolutions };
  const scaleDenominators = numbers('scaleDenominators');
  if (scaleDenominators) return { scaleDenominators };
  return { levels: integerField(root, 'levels') ?? DEFAULT_LEVELS };
}

/** `document`: the declaration, if there is one; scales that it has are written as scales. */
export function writeGwcGridSet(gridSet: GridSet, document: unknown): DocumentNode {
  const { levels } = gridSet;
  const names = levels.map(({ name }) => name);
  const resolutions = levels.map(({ resolution }) => resolution);
  const scales =
    isRecord(document) && Array.isArray(document.scaleDenominators) ? document.scaleDenominators : null;
  return nodeOf('gridSet', [
    leaf('name', gridSet.name),
    leaf('description', gridSet.description || null),
    nodeOf('srs', [leaf('number', gridSet.srs)]),
    nodeOf('extent', [doubleList('coords', 'double', coordsOf(gridSet.extent))]),
    leaf('alignTopLeft', gridSet.alignTopLeft),
    scales
      ? doubleList('scaleDenominators', 'double', scales)
      : doubleList('resolutions', 'double', resolutions),
    double('metersPerUnit', gridSet.metersPerUnit),
    double('pixelSize', gridSet.pixelSize),
    textList('scaleNames', 'string', names),
    leaf('tileHeight', gridSet.tileHeight),
    leaf('tileWidth', gridSet.tileWidth),
    leaf('yCoordinateFirst', gridSet.yCoordinateFirst),
  ]);
}
