import type { FilterOptions } from '../domain/parameter-filter.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { type DocumentNode, double, doubleList, leaf, nodeOf, textList } from './document-node.ts';
import type { ReadWarnings, Shape } from './read-warnings.ts';
import {
  bodyProblem,
  childrenNamed,
  choiceField,
  elementText,
  entriesOf,
  numberField,
  numberOf,
  onlyChild,
  textField,
  type WireElement,
} from './wire-element.ts';

/** A parameter filter in the configuration file's form. */
interface Filter extends Pick<FilterOptions, 'name' | 'regex' | 'integers' | 'floats' | 'threshold'> {
  /** Only a filter of times has one. GeoWebCache has no such filter, so it is not written. */
  readonly type?: string;
  readonly default?: string | number;
  readonly values?: readonly (string | number)[];
  readonly normalize?: string;
}

const COMMON = { key: null, defaultValue: null };
export const STYLE_FILTER = 'styleParameterFilter';
const STYLES = 'STYLES';
/** The regular expression that accepts any value. */
const ANY = '.*';
const NORMALIZE = { normalize: { case: null } };

export const FILTER_SHAPES: Shape = {
  stringParameterFilter: { ...COMMON, ...NORMALIZE, values: null },
  regexParameterFilter: { ...COMMON, ...NORMALIZE, regex: null },
  floatParameterFilter: { ...COMMON, values: null, threshold: null },
  integerParameterFilter: { ...COMMON, values: null, threshold: null },
  [STYLE_FILTER]: null,
};

/** Filters of other kinds are reported by `ignoredOutside`. */
export function readParameterFilters(
  root: WireElement,
  warnings: ReadWarnings,
): readonly object[] | undefined {
  const filters = childrenNamed(root, 'parameterFilters').flatMap(({ children }) => children);
  const known = filters
    .filter(({ name }) => name in FILTER_SHAPES && name !== STYLE_FILTER)
    .map((filter) => readFilter(filter, warnings));
  const [style] = filters.filter(({ name }) => name === STYLE_FILTER);
  const all = style ? [...known, ...styleFilter(style, known, warnings)] : known;
  return all.length === 0 ? undefined : all;
}

/** GeoServer's filter of a layer's styles. Some versions list them; without a list the source rejects unknown ones. */
function styleFilter(
  style: WireElement,
  others: readonly Filter[],
  warnings: ReadWarnings,
): readonly Filter[] {
  const name = textField(style, 'key') ?? STYLES;
  const isDeclared = others.some((other) => other.name.toUpperCase() === name.toUpperCase());
  const values = isDeclared ? [] : listedStyles(style);
  if (values.length > 0) return [{ name, default: '', values: ['', ...values] }];
  const path = ['parameterFilters', style.name];
  if (isDeclared) warnings.ignored(path);
  else warnings.changed(path, 'takes any style');
  return isDeclared ? [] : [{ name, ...readDefault(style), regex: ANY }];
}

/** Empty for a filter that has a default of its own, or no list. */
function listedStyles(style: WireElement): readonly string[] {
  const available = (entriesOf(style, 'availableStyles', ['string']) ?? []).map(elementText);
  const own = onlyChild(style, 'defaultStyle')?.text.trim() ?? '';
  const hasDefault = (readDefault(style).default ?? '') !== '';
  return hasDefault ? [] : [...new Set([own, ...available])].filter((name) => name !== '');
}

function readFilter(filter: WireElement, warnings: ReadWarnings): Filter {
  const name = textField(filter, 'key');
  if (name === undefined) throw bodyProblem(`A ${filter.name} must have a key`, filter.place);
  const base = { name, ...readDefault(filter) };
  if (filter.name === 'stringParameterFilter') {
    return { ...base, ...readNormalize(filter), values: stringValues(filter, base.default ?? '') };
  }
  if (filter.name === 'regexParameterFilter') {
    return { ...base, ...readNormalize(filter), regex: textField(filter, 'regex') ?? ANY };
  }
  const float = filter.name === 'floatParameterFilter';
  const values = (entriesOf(filter, 'values', [float ? 'float' : 'int']) ?? []).map(numberOf);
  const path = ['parameterFilters', filter.name, 'threshold'];
  const threshold = warnings.positive(path, numberField(filter, 'threshold'));
  return { ...base, [float ? 'floats' : 'integers']: values, ...omitUndefined({ threshold }) };
}

function readDefault(filter: WireElement): { readonly default?: string } {
  const element = onlyChild(filter, 'defaultValue');
  return element && !element.nothing ? { default: element.text.trim() } : {};
}

/** Without listed values only the default is allowed. */
function stringValues(filter: WireElement, defaultValue: string): readonly string[] {
  const values = (entriesOf(filter, 'values', ['string']) ?? []).map(elementText);
  return values.length === 0 ? [defaultValue] : values;
}

function readNormalize(filter: WireElement): { readonly normalize?: string } {
  const normalize = onlyChild(filter, 'normalize');
  const letters = normalize && choiceField(normalize, 'case', ['NONE', 'UPPER', 'LOWER']);
  return letters ? { normalize: letters.toLowerCase() } : {};
}

/** A filter that accepts any style is written as GeoServer's: clients of GeoServer add that filter if it is missing. */
export function writeParameterFilters(filters: unknown): DocumentNode | null {
  const written = Array.isArray(filters) ? filters.filter(({ type }: Filter) => type === undefined) : [];
  return written.length === 0 ? null : nodeOf('parameterFilters', written.map(writeFilter));
}

function writeFilter(filter: Filter): DocumentNode {
  const defaultValue = filter.default === undefined ? null : String(filter.default);
  const base = [leaf('key', filter.name), leaf('defaultValue', defaultValue)];
  const normalize = filter.normalize
    ? nodeOf('normalize', [leaf('case', filter.normalize.toUpperCase())])
    : null;
  if (filter.integers) {
    const values = textList('values', 'int', filter.integers);
    return nodeOf('integerParameterFilter', [...base, values, leaf('threshold', filter.threshold)]);
  }
  if (filter.floats) {
    const values = doubleList('values', 'float', filter.floats);
    return nodeOf('floatParameterFilter', [...base, values, double('threshold', filter.threshold)]);
  }
  if (filter.values) {
    const values = textList('values', 'string', filter.values.map(String));
    return nodeOf('stringParameterFilter', [...base, normalize, values]);
  }
  if (filter.name === STYLES && filter.regex === ANY && !normalize) return nodeOf(STYLE_FILTER, base);
  return nodeOf('regexParameterFilter', [...base, normalize, leaf('regex', filter.regex ?? ANY)]);
}
