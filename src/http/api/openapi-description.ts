import type { z } from 'zod';

/** What the interface's own document says of a route. Schemas are the ones that read, where a schema reads. */
export interface RouteDescription {
  /** One line, e.g. `List tasks`. */
  readonly summary: string;
  /** The part of the interface it belongs to; the first word of its path when left out. */
  readonly tag?: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Other media types the body may come as; without it `application/json`. */
  readonly bodyTypes?: readonly string[];
  /** What a body of `text/plain` is, where one is taken beside JSON. */
  readonly plainBody?: string;
  /** The answer has an `ETag`; a change honours it as `If-Match`. */
  readonly versioned?: boolean;
  /** Of JSON answers. */
  readonly answer?: z.ZodType;
  /** 200 unless said otherwise. */
  readonly status?: number;
  /** Of answers that are not JSON, e.g. `text/event-stream`. */
  readonly answerType?: string;
}
