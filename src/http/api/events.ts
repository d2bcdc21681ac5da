import type { ServerResponse } from 'node:http';
import { writeJson } from '../../lib/write-json.ts';
import type { TaskEvent } from '../../tasks/task-service.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Handler } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { taskDocument } from '../wire/task-document.ts';

const HEARTBEAT_MS = 15_000;
/** What may wait for a caller that reads slowly. Beyond it the stream ends; the caller comes back with the last id it saw. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** How soon a caller comes back when a stream ends. */
const RETRY_MS = 2000;

/** `/api/v1/events`: changes of tasks as server-sent events, for at most `maxStreams` callers at once. */
export function createEventStream({ tasks, log }: RouteDeps, maxStreams: number): Handler {
  let streams = 0;

  return (exchange) => {
    const after = lastEventId(exchange);
    if (streams >= maxStreams) {
      throw new HttpProblem('too-many-requests', 'Too many are listening already.', ['Retry-After', '10']);
    }
    return {
      status: 200,
      headers: [
        'Content-Type',
        'text/event-stream; charset=utf-8',
        'Cache-Control',
        'no-store',
        'X-Accel-Buffering',
        'no',
      ],
      body: (response, signal) => {
        streams += 1;
        response.once('close', () => {
          streams -= 1;
        });
        void stream(response, after, signal);
      },
    };
  };

  async function stream(response: ServerResponse, after: number | null, signal: AbortSignal): Promise<void> {
    response.write(`retry: ${RETRY_MS}\n\n`);
    const heartbeat = setInterval(() => writeOrEnd(response, ': alive\n\n'), HEARTBEAT_MS);
    const end = () => response.end();
    let unsubscribe = () => {};
    response.once('close', () => {
      clearInterval(heartbeat);
      signal.removeEventListener('abort', end);
      unsubscribe();
    });
    signal.addEventListener('abort', end, { once: true });
    try {
      unsubscribe = await tasks.subscribe(after, (event) => writeOrEnd(response, frameOf(event)));
      if (response.closed) unsubscribe();
    } catch (error) {
      log.warn({ err: error }, 'Task events cannot be sent');
      response.end();
    }
  }
}

function frameOf({ id, task }: TaskEvent): string {
  return `id: ${id}\nevent: task\ndata: ${writeJson(taskDocument(task))}\n\n`;
}

function writeOrEnd(response: ServerResponse, frame: string): void {
  if (response.writableEnded) return;
  if (response.writableLength > MAX_UNREAD_BYTES) {
    response.destroy();
    return;
  }
  response.write(frame);
}

/** A browser sends the header when it comes back; a script may put the id into the query. Null: from now on. */
function lastEventId(exchange: Exchange): number | null {
  const header = exchange.headers['last-event-id'];
  const text = header === undefined ? new URLSearchParams(exchange.query).get('lastEventId') : String(header);
  if (text === null || text === '') return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new HttpProblem('header-invalid', 'Last-Event-ID must be the id of an event.');
}
