import type { Env } from '../../lib/env.ts';
import { openRepeater } from '../../lib/repeat.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Notification, NotifiedEvent, NotifySettings } from './delivery-targets.ts';

interface NotifierOptions extends Env {
  readonly store: Pick<DeliveryStore, 'report' | 'recovered'>;
  readonly targets: readonly NotifySettings[];
}

/** An event and its subject, which is reported once until it recovers. */
interface Report
  extends Pick<Notification, 'event' | 'message'>,
    Partial<Pick<Notification, 'layer' | 'details'>> {
  readonly subject: string;
  /** Milliseconds after which it is reported again. */
  readonly againAfter?: number;
}

/** Milliseconds between attempts to record reports while the database fails. */
const RETRY_INTERVAL = 1000;
/** Reports that wait for the database; later ones are dropped. */
const MAX_WAITING = 1000;

export type Notifier = ReturnType<typeof openNotifier>;

/** Records notifications for the targets of their events, in order. Callers neither wait nor get an error. */
export function openNotifier({ store, targets, clock, log }: NotifierOptions) {
  const waiting: (() => Promise<void>)[] = [];
  const failure = 'a notification could not be recorded; it is retried';
  const recording = openRepeater(recordAll, { clock, log, pause: RETRY_INTERVAL, failure });

  async function recordAll(): Promise<void> {
    for (let work = waiting[0]; work; work = waiting[0]) {
      await work();
      waiting.shift();
    }
  }

  function add(work: () => Promise<void>): void {
    if (targets.length === 0 || waiting.length >= MAX_WAITING) return;
    waiting.push(work);
    recording.wake();
  }

  const namesFor = (event: NotifiedEvent) =>
    targets.filter(({ events }) => events.includes(event)).map(({ name }) => name);

  return {
    isOn: targets.length > 0,
    report({ subject, againAfter, event, message, layer = null, details = {} }: Report): void {
      const transition = { subject, ...(againAfter !== undefined && { againAfter }) };
      add(() => store.report(namesFor(event), { event, layer, message, details }, transition));
    },
    /** `report`: sent if the subject was reported before. */
    recovered(subject: string, report: Omit<Report, 'subject' | 'againAfter'> | null = null): void {
      const payload = report && { layer: null, details: {}, ...report };
      add(() => store.recovered(report ? namesFor(report.event) : [], payload, subject));
    },
    /** `failure` null: the feed works again. Each cause recovers by itself. */
    changeFeed(feed: string, failure: string | null, cause: 'reading' | 'layers' = 'reading'): void {
      const subject = cause === 'reading' ? `feed:${feed}` : `feed-${cause}:${feed}`;
      const message = `The change feed ${feed} is failing: ${failure}`;
      if (failure === null) this.recovered(subject);
      else this.report({ subject, event: 'change-feed-failing', message, details: { feed } });
    },
    async close(): Promise<void> {
      await recording.close();
      await recordAll().catch(() => {});
    },
  };
}
