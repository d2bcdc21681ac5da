import { useMemo } from 'react';
import { cronText } from '../cron-text.ts';
import { Check, Choice, TextField } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import type { ScheduleDraft } from './schedule-draft.ts';
import type { Faults } from './seed-plan.ts';

const WORDS = TEXTS.schedules;
const OVERRUNS = ['pause', 'stop', 'finish'] as const;

/** When it runs, and within which hours. */
export function ScheduleTimes({
  draft,
  faults,
  onChange,
}: {
  readonly draft: ScheduleDraft;
  readonly faults: Faults;
  readonly onChange: (changes: Partial<ScheduleDraft>) => void;
}) {
  const zones = useMemo(() => ['UTC', ...Intl.supportedValuesOf('timeZone')], []);
  return (
    <>
      <div className="stack tight">
        <TextField
          label={WORDS.cron}
          className="mono"
          spellCheck={false}
          value={draft.cron}
          error={faults.cron ?? null}
          help={cronText(draft.cron) ?? WORDS.cronUnsaid}
          onChange={({ target }) => onChange({ cron: target.value })}
        />
        <div className="row">
          {WORDS.presets.map(([cron, text]) => (
            <button
              key={cron}
              type="button"
              className="chip"
              aria-pressed={draft.cron === cron}
              onClick={() => onChange({ cron })}
            >
              {text}
            </button>
          ))}
        </div>
      </div>
      <TextField
        label={WORDS.timeZone}
        list="time-zones"
        value={draft.timeZone}
        error={faults.timeZone ?? null}
        onChange={({ target }) => onChange({ timeZone: target.value })}
      />
      <datalist id="time-zones">
        {zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <div className="form-grid tops">
        <TextField
          type="time"
          label={WORDS.from}
          value={draft.from}
          error={faults.hours ?? null}
          onChange={({ target }) => onChange({ from: target.value })}
        />
        <TextField
          type="time"
          label={WORDS.until}
          value={draft.until}
          onChange={({ target }) => onChange({ until: target.value })}
        />
      </div>
      {draft.from === '' && draft.until === '' && <p className="small quiet">{WORDS.anyHourHelp}</p>}
      {draft.from !== '' && (
        <Choice
          label={WORDS.overrun}
          value={draft.overrun}
          options={OVERRUNS.map((overrun) => [overrun, WORDS.overruns[overrun]] as const)}
          onChange={(overrun) => onChange({ overrun })}
        />
      )}
      <Check label={WORDS.enabled} checked={draft.enabled} onChange={(enabled) => onChange({ enabled })} />
    </>
  );
}
