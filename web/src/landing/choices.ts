import { extensionOf, type OfferedLayer, type TileSet } from '../map/tile-set.ts';

type Offer = readonly [value: string, text: string];
type Parameter = OfferedLayer['parameters'][number];
type Choose = (wishes: URLSearchParams) => void;

/** Fills the form with what can be chosen and reports every change as wishes. */
export function showChoices(
  layers: readonly OfferedLayer[],
  set: TileSet<OfferedLayer>,
  choose: Choose,
): void {
  const { layer, gridSet } = set;
  const form = element('choices', HTMLFormElement);
  const titles = layers.map(({ name, title }): Offer => [name, title || name]);
  const formats = layer.extensions.map((value, place): Offer => [value, layer.formats[place] ?? value]);
  fill(element('layer', HTMLSelectElement), titles, layer.name);
  fill(
    element('grid-set', HTMLSelectElement),
    layer.gridSets.map(({ name }) => name),
    gridSet.name,
  );
  fill(element('format', HTMLSelectElement), formats, extensionOf(set));
  showParameters(set);
  form.onchange = () => choose(wishesOf(layer.parameters));
  form.onsubmit = (event) => event.preventDefault();
}

function wishesOf(parameters: readonly Parameter[]): URLSearchParams {
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
function showParameters({ layer, parameters }: TileSet<OfferedLayer>): void {
  const list = element('parameters', HTMLElement);
  if (list.dataset.layer === layer.name) return;
  list.dataset.layer = layer.name;
  list.replaceChildren(
    ...layer.parameters.map((parameter, place) => {
      const field = fieldFor(parameter, parameters[parameter.name] ?? parameter.default);
      field.id = `parameter-${place}`;
      const label = document.createElement('label');
      label.append(`${parameter.name} `, field);
      return label;
    }),
  );
}

function fieldFor({ values }: Parameter, value: string): HTMLSelectElement | HTMLInputElement {
  if (values === null) {
    const input = document.createElement('input');
    input.value = value;
    return input;
  }
  const select = document.createElement('select');
  fill(select, values, value);
  return select;
}

/** An option is a value, and its text where that is another. */
function fill(select: HTMLSelectElement, options: readonly (string | Offer)[], chosen: string): void {
  const made = options.map((one) => (typeof one === 'string' ? new Option(one) : new Option(one[1], one[0])));
  select.replaceChildren(...made);
  select.value = chosen;
}

/** The element of the page with this id, which is of this kind. */
export function element<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`The page has no ${kind.name} called ${id}.`);
}
