import type { Dispatcher } from 'undici';
import { hideSecrets } from '../../lib/hide-secrets.ts';
import { failureOfBody, failureOfStatus, parseRetryAfter, refuseAnswer } from './upstream-failure.ts';

/** Characters of an error answer that are kept for the log. */
const EXCERPT_LENGTH = 500;

type Body = Dispatcher.ResponseData['body'];

export interface ReadLimits {
  readonly maxBytes: number;
  /** For messages in the log. */
  readonly host: string;
  readonly now: number;
  /** Statuses that are answers. */
  readonly accepted: readonly number[];
  /** Encodings of the body that are left to the caller. */
  readonly encodings: readonly string[];
}

/** The whole body of an answer with an accepted status; anything else is thrown and its socket closed. */
export async function readAnswer(response: Dispatcher.ResponseData, limits: ReadLimits): Promise<Buffer> {
  const { statusCode, headers, body } = response;
  // A body that is given up fails once more, with nobody left to hear it.
  body.on('error', () => undefined);
  try {
    if (!limits.accepted.includes(statusCode)) {
      const detail = `${limits.host} answered ${statusCode}: ${await readExcerpt(body)}`;
      throw failureOfStatus(statusCode, detail, parseRetryAfter(textOf(headers['retry-after']), limits.now));
    }
    const encoding = textOf(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity';
    if (!limits.encodings.includes(encoding)) {
      throw refuseAnswer('encoded-body', `${limits.host} encoded its answer as ${encoding.slice(0, 50)}`);
    }
    return await readBody(body, Number(textOf(headers['content-length']) ?? 0), limits);
  } finally {
    body.destroy();
  }
}

export function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

async function readBody(body: Body, declaredLength: number, { maxBytes, host }: ReadLimits): Promise<Buffer> {
  const tooLong = () => refuseAnswer('too-long', `${host} sent more than ${maxBytes} bytes`);
  if (declaredLength > maxBytes) throw tooLong();
  const chunks: Buffer[] = [];
  let length = 0;
  // Listening takes a third of the time that iterating does.
  await new Promise<void>((resolve, reject) => {
    body.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) reject(tooLong());
      else chunks.push(chunk);
    });
    body.once('end', resolve);
    body.once('error', (error) => reject(failureOfBody(error, host)));
    body.once('close', () => reject(failureOfBody(new Error('the connection was closed'), host)));
  });
  return Buffer.concat(chunks, length);
}

/** An error page that cannot be read says nothing; the status is what counts. */
async function readExcerpt(body: Body): Promise<string> {
  let text = '';
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      text += chunk.toString('utf8', 0, EXCERPT_LENGTH * 4);
      if (text.length >= EXCERPT_LENGTH) break;
    }
  } catch {
    // What came before is kept.
  }
  return hideSecrets(text).slice(0, EXCERPT_LENGTH);
}
