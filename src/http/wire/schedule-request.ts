import { shortened } from '../../domain/shortened.ts';
import { OVERRUNS, SCHEDULED_WORK, type ScheduleDeclaration } from '../../tasks/schedules/schedule.ts';
import { booleanField, readTaskObject, taskDraftOf } from './task-request.ts';
import { bodyProblem, onlyChild, textField, type WireElement } from './wire-element.ts';

const MAX_NAME = 200;
/** Printable, and no space at either end. */
const NAME = /^(?=\S)\P{Cc}*(?<=\S)$/u;

/** `POST /api/v1/schedules`: the fields of a task with those that say when. */
export function readScheduleRequest(body: Buffer): ScheduleDeclaration {
  const root = readTaskObject(body);
  const { layer, type, ...draft } = taskDraftOf(root);
  return {
    layer,
    name: nameField(root),
    cron: required(root, 'cron'),
    timeZone: textField(root, 'timeZone') ?? 'UTC',
    hours: textField(root, 'hours') ?? null,
    overrun: oneOf(root, 'overrun', textField(root, 'overrun') ?? 'pause', OVERRUNS),
    enabled: booleanField(root, 'enabled') ?? true,
    work: oneOf(root, 'type', type ?? 'seed', SCHEDULED_WORK),
    draft,
  };
}

function nameField(root: WireElement): string {
  const name = required(root, 'name');
  if (name.length <= MAX_NAME && NAME.test(name)) return name;
  throw bodyProblem(`name must have 1 to ${MAX_NAME} printable characters`, placeOf(root, 'name'));
}

function required(root: WireElement, field: string): string {
  const text = textField(root, field);
  if (text !== undefined && text !== '') return text;
  throw bodyProblem(`${field} is missing`, placeOf(root, field));
}

function oneOf<Choice extends string>(
  root: WireElement,
  field: string,
  text: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === text.toLowerCase());
  if (found) return found;
  throw bodyProblem(
    `${field} must be one of ${choices.join(', ')}, not "${shortened(text)}"`,
    placeOf(root, field),
  );
}

function placeOf(root: WireElement, field: string) {
  return (onlyChild(root, field) ?? root).place;
}
