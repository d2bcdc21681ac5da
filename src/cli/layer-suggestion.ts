import { z } from 'zod';
import { closestName } from '../lib/closest-name.ts';
import { NOT_FOUND, type ServerClient, ServerRefusal } from './server-client.ts';

const layerListSchema = z.object({ layers: z.array(z.object({ name: z.string() })) });
const MOST_NAMED = 10;

/** When a layer is unknown, what the server does have is worth a second request. */
export async function withSuggestion(error: unknown, layer: string, client: ServerClient): Promise<unknown> {
  if (!(error instanceof ServerRefusal) || error.status !== NOT_FOUND) return error;
  const names = await layerNames(client);
  return new ServerRefusal(error.status, `${error.message}${suggestion(layer, names)}`);
}

async function layerNames(client: ServerClient): Promise<readonly string[]> {
  const answer = await client.get('/tiles.json').catch(() => null);
  const list = layerListSchema.safeParse(answer);
  return list.success ? list.data.layers.map(({ name }) => name) : [];
}

function suggestion(given: string, names: readonly string[]): string {
  const meant = closestName(given, names);
  if (meant !== null) return ` Did you mean ${meant}?`;
  if (names.length === 0) return '';
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return ` There are: ${names.slice(0, MOST_NAMED).join(', ')}${more}.`;
}
