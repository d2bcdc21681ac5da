/**
 * The interface of this folder to the rest of `http`: the server opens a front and a dispatcher with a router, services
 * respond with tiles through a responder. No other file here is imported from outside.
 */
export { createDispatcher, type Dispatcher, type DispatcherOptions } from './dispatcher.ts';
export { openFront } from './front.ts';
export { createRouter, type Rewrite } from './router.ts';
export { headerText, lifetimeHeaders, noteHeaders } from './tile-headers.ts';
export {
  createTileResponder,
  type TileResponder,
  type TileResponderDeps,
  vectorResponse,
} from './tile-response.ts';
