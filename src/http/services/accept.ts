import type { Format } from '../../domain/format.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';

interface Wish {
  readonly type: string;
  /** 0 to 1; 0: on no account. */
  readonly quality: number;
}

/** A header of this length names more types than anybody has. */
const MOST_WISHES = 100;

/**
 * Of what is offered, that which the `Accept` header likes best; null: none of it is wanted. RFC 9110, 12.5.1: the
 * most specific entry counts for a type. Of equals, what was named is liked better than what a star lets through,
 * and then what is offered first: a browser that names `image/webp` gets it, one that says `image/*` gets our default.
 */
export function chooseMediaType<Offer extends string>(
  accept: string | undefined,
  offered: readonly Offer[],
): Offer | null {
  if (accept === undefined || accept.trim() === '') return offered[0] ?? null;
  const wishes = accept.split(',', MOST_WISHES).map(readWish);
  let best: { readonly offer: Offer; readonly quality: number; readonly specificity: number } | null = null;
  for (const offer of offered) {
    const wish = { offer, ...liking(wishes, offer) };
    if (wish.quality > 0 && (best === null || isBetter(wish, best))) best = wish;
  }
  return best?.offer ?? null;
}

interface Liking {
  readonly quality: number;
  /** 2: by name; 1: `image/*`; 0: anything. */
  readonly specificity: number;
}

function isBetter(a: Liking, b: Liking): boolean {
  return a.quality > b.quality || (a.quality === b.quality && a.specificity > b.specificity);
}

function liking(wishes: readonly Wish[], offer: string): Liking {
  const [main = ''] = offer.split('/', 1);
  const ranges = ['*/*', `${main}/*`, offer];
  for (let specificity = 2; specificity >= 0; specificity--) {
    const found = wishes.find(({ type }) => type === ranges[specificity]);
    if (found) return { quality: found.quality, specificity };
  }
  return { quality: 0, specificity: 0 };
}

/** Parameters other than `q` are not looked at: we have one representation of each type. */
function readWish(text: string): Wish {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  const quality = weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, ''));
  return { type, quality: Number.isNaN(quality) ? 0 : Math.min(Math.max(quality, 0), 1) };
}

/** What the caller's `Accept` likes best of these; the first without one. Answers then vary by that header. */
export function formatAccepted(exchange: Exchange, offered: readonly Format[]): Format {
  const types = [...new Set(offered.map(({ contentType }) => contentType))];
  const chosen = chooseMediaType(exchange.headers.accept, types);
  const found = offered.find(({ contentType }) => contentType === chosen);
  if (found) return found;
  throw new HttpProblem('not-acceptable', `There is ${types.join(', ')}; Accept allows none of it.`, [
    'Vary',
    'Accept',
  ]);
}
