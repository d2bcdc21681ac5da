import type { LayerEntry, ParameterEntry } from './layer-list.ts';
import type { Selection } from './selection.ts';

type Choose = (wishes: URLSearchParams) => void;

/** Fills the form with what can be chosen and reports every change as wishes. */
export function showChoices(layers: readonly LayerEntry[], selection: Selection, choose: Choose): void {
  const { layer, gridSet, extension } = selection;
  const form = element('choices', HTMLFormElement);
  fill(
    element('layer', HTMLSelectElement),
    layers.map(({ name, title }) => [name, title || name]),
    layer.name,
  );
  fill(
    element('grid-set', HTMLSelectElement),
    layer.gridSets.map(({ name }) => [name, name]),
    gridSet.name,
  );
  fill(
    element('format', HTMLSelectElement),
    layer.extensions.map((value, place) => [value, layer.formats[place] ?? value]),
    extension,
  );
  showParameters(selection);
  form.onchange = () => choose(wishesOf(layer.parameters));
  form.onsubmit = (event) => event.preventDefault();
}

function wishesOf(parameters: readonly ParameterEntry[]): URLSearchParams {
  const wishes = new URLSearchParams({
    layer: element('layer', HTMLSelectElement).value,
    gridSet: element('grid-set', HTMLSelectElement).value,
    format: element('format', HTMLSelectElement).value,
  });
  for (const [place, { name }] of parameters.entries()) {
    const field = document.querySelector<HTMLSelectElement | HTMLInputElement>(`#parameter-${place}`);
    if (field) wishes.set(name, field.value);
  }
  return wishes;
}

/** The fields stay when the layer stays, so that whoever chooses by keyboard keeps their place. */
function showParameters({ layer, parameters }: Selection): void {
  const list = element('parameters', HTMLElement);
  if (list.dataset.layer === layer.name) return;
  list.dataset.layer = layer.name;
  list.replaceChildren(
    ...layer.parameters.map((parameter, place) => {
      const field = fieldFor(parameter, parameters.get(parameter.name) ?? parameter.default);
      field.id = `parameter-${place}`;
      const label = document.createElement('label');
      label.append(`${parameter.name} `, field);
      return label;
    }),
  );
}

function fieldFor({ values }: ParameterEntry, value: string): HTMLSelectElement | HTMLInputElement {
  if (values === null) {
    const input = document.createElement('input');
    input.value = value;
    return input;
  }
  const select = document.createElement('select');
  fill(
    select,
    values.map((option) => [option, option]),
    value,
  );
  return select;
}

function fill(
  select: HTMLSelectElement,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
): void {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  select.value = chosen;
}

/** The element of the page with this id, which is of this kind. */
export function element<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`The page has no ${kind.name} called ${id}.`);
}
