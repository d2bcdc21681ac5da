import type { OfferedLayer } from '../map/tile-set.ts';
import { fetchLayers, tileSetOf } from './layer-list.ts';
import './landing.css';
import { element, showChoices } from './choices.ts';
import { type MapReport, TileMap } from './tile-map.ts';

function showNotice(text: string | null): void {
  const notice = element('notice', HTMLElement);
  notice.textContent = text;
  notice.hidden = text === null;
}

function showReport({ zoom, position, tile }: MapReport): void {
  element('zoom', HTMLOutputElement).value = String(zoom);
  element('position', HTMLOutputElement).value = position;
  const link = element('tile', HTMLAnchorElement);
  link.textContent = tile ?? 'none here';
  if (tile === null) link.removeAttribute('href');
  if (tile !== null) link.href = tile;
}

/** The choices stand in the address after the `#`, so that it can be kept and sent. */
function choose(map: TileMap, layers: readonly OfferedLayer[], wishes: URLSearchParams): void {
  const set = tileSetOf(layers, wishes);
  if (!set) {
    showNotice('This server has no layer that a map can show.');
    return;
  }
  showNotice(null);
  showChoices(layers, set, (changed) => {
    history.replaceState(null, '', `#${changed}`);
    choose(map, layers, changed);
  });
  map.show(set);
  const page = element('layer-page', HTMLAnchorElement);
  page.href = `layers/${encodeURIComponent(set.layer.name)}`;
}

/** Whoever is known already does not have to sign in. */
async function nameTheDoor(): Promise<void> {
  const answer = await fetch('session.json');
  const { caller } = (await answer.json()) as { caller: object | null };
  if (caller) element('enter', HTMLAnchorElement).textContent = 'Console';
}

async function start(): Promise<void> {
  const layers = await fetchLayers();
  const map = new TileMap(element('map', HTMLElement), {
    onMove: showReport,
    onTileFailed: (address) => showNotice(`A tile could not be loaded: ${address}`),
  });
  const chooseFromAddress = () => {
    if (location.hash.startsWith('#/')) return;
    choose(map, layers, new URLSearchParams(location.hash.slice(1)));
  };
  addEventListener('hashchange', chooseFromAddress);
  chooseFromAddress();
  await nameTheDoor();
}

export function startLanding(): void {
  start().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    showNotice(`The list of layers could not be loaded. ${reason} Reload the page to try again.`);
  });
}
