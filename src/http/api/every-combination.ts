import { invalid } from '../../domain/errors.ts';
import type { Layer } from '../../domain/layer.ts';
import { EVERY_FORMAT } from '../../tasks/task.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';

/** A task each: more are usually a mistake. */
const MAX_COMBINATIONS = 1000;

/** Drafts for all formats and listed parameter values; a parameter without a list has only its default. */
export function everyDraft(layer: Layer, draft: TaskDraft): readonly TaskDraft[] {
  if (draft.type === 'truncate') return [{ ...draft, format: EVERY_FORMAT }];
  const lists = layer.parameters.map(({ name, defaultValue, values }) => {
    const others = (values ?? []).filter((value) => value !== defaultValue);
    return { name, values: [null, ...others] };
  });
  const count = lists.reduce((product, { values }) => product * values.length, layer.formats.length);
  if (count > MAX_COMBINATIONS)
    throw invalid(`every would be ${count} tasks, and at most ${MAX_COMBINATIONS} are allowed.`);
  return lists.reduce<readonly TaskDraft[]>(
    (drafts, { name, values }) =>
      drafts.flatMap((one) =>
        values.map((value) =>
          value === null ? one : { ...one, parameters: new Map([...(one.parameters ?? []), [name, value]]) },
        ),
      ),
    layer.formats.map(({ mediaType }) => ({ ...draft, format: mediaType })),
  );
}
