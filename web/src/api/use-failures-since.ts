import { sinceText } from '../format.ts';
import type { Answer } from './client.ts';
import { useResource } from './use-resource.ts';

/** Since when failures of layers are counted, in words: a restart forgets the earlier ones. */
export function useFailuresSince(): string {
  const { data } = useResource<Answer<'/api/v1/about'>>('api/v1/about');
  return sinceText(data?.startedAt ?? null);
}
