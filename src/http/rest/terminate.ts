import { mayWorkOn, mayWorkOnAll } from '../../access/caller.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import type { Task } from '../../tasks/task.ts';
import type { CancelSelector } from '../../tasks/task-service.ts';
import { type Html, html, pageAnswer } from '../answer/html.ts';
import { FORM, requireMediaType } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';
import type { Handler } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { boundLayer } from '../services/tiles.ts';
import { callerName } from './seed.ts';

type States = CancelSelector['states'];

const ALL: States = ['pending', 'paused', 'running'];
/** `1` is what old clients send. A paused task waits, as a pending one does. */
const STATES_OF_KILL_ALL: ReadonlyMap<string, States> = new Map([
  ['running', ['running']],
  ['1', ['running']],
  ['pending', ['pending', 'paused']],
  ['all', ALL],
]);

/** `POST /rest/seed`: `kill_all` for every layer the caller may work on. */
export function createTerminateAllHandler({ tasks }: RouteDeps): Handler {
  return async (exchange) => {
    const states = killAllStates(readForm(exchange));
    const { caller } = exchange;
    if (!caller) return stoppedPage(exchange, []);
    if (mayWorkOnAll(caller)) return stoppedPage(exchange, await tasks.cancel({ states }, caller.name));
    const stopped: Task[] = [];
    for (const layer of await layersWith(tasks, states)) {
      if (mayWorkOn(caller, layer)) stopped.push(...(await tasks.cancel({ layer, states }, caller.name)));
    }
    return stoppedPage(exchange, stopped);
  };
}

/** `POST /rest/seed/{layer}`: `kill_all`, or `kill_thread` with `thread_id`. */
export function createTerminateHandler({ catalog, tasks }: RouteDeps): Handler {
  return async (exchange) => {
    const form = readForm(exchange);
    const layer = boundLayer(catalog, exchange.param('layer')).layer.name;
    const selector = form.has('kill_thread')
      ? { layer, id: threadId(form), states: ALL }
      : { layer, states: killAllStates(form) };
    return stoppedPage(exchange, await tasks.cancel(selector, callerName(exchange)));
  };
}

const PAGE = 1000;

/** The layers that have tasks in these states. */
async function layersWith(tasks: RouteDeps['tasks'], states: States): Promise<ReadonlySet<string>> {
  const layers = new Set<string>();
  for (let beforeId = Number.MAX_SAFE_INTEGER; ; ) {
    const found = await tasks.list({ states, beforeId, limit: PAGE });
    for (const { request } of found) layers.add(request.layer);
    const last = found.at(-1);
    if (!last || found.length < PAGE) return layers;
    beforeId = last.id;
  }
}

/** Some scripts of GeoWebCache send the form as `text/xml`. */
function readForm(exchange: Exchange): URLSearchParams {
  requireMediaType(exchange.headers, [FORM, 'text/xml']);
  return new URLSearchParams(exchange.body.toString('utf8').trim());
}

function killAllStates(form: URLSearchParams): States {
  const value = form.get('kill_all');
  const states = STATES_OF_KILL_ALL.get(value?.trim().toLowerCase() ?? '');
  if (states) return states;
  const given = value === null ? 'kill_all is missing' : `kill_all "${shortened(value)}" is unknown`;
  throw invalid(`${given}; it must be running, pending, all or 1.`);
}

function threadId(form: URLSearchParams): number {
  const text = form.get('thread_id')?.trim() ?? '';
  const id = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (id > 0) return id;
  throw invalid('kill_thread needs thread_id, the number of a task.');
}

function stoppedPage(exchange: Exchange, stopped: readonly Task[]) {
  const back = html`<p><a href="${exchange.baseUrl}/">Back</a></p>`;
  if (stopped.length === 0) return pageAnswer('No task had to be stopped', back);
  const body = html`<ul>
${stopped.map(describeTask)}
</ul>
${back}`;
  return pageAnswer('Tasks told to stop', body);
}

function describeTask({ id, request, state }: Task): Html {
  return html`<li>[${id}: ${request.layer}, ${request.type}, ${state}]</li>`;
}
