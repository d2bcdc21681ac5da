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
  /** Of JSON answers. */
  readonly answer?: z.ZodType;
  /** 200 unless said otherwise. */
  readonly status?: number;
  /** Of answers that are not JSON, e.g. `text/event-stream`. */
  readonly answerType?: string;
}
