import { Problem, problemFrom, reach } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { ActionNotices } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { TEXTS } from '../texts.ts';

const FORM = new URLSearchParams({ reload_configuration: '1' });

/** Lets the server read its configuration file again. */
export function ReloadConfiguration({ onReloaded }: { readonly onReloaded: () => void }) {
  const action = useAction();
  const reload = () =>
    action.run(async () => {
      const done = await ask();
      onReloaded();
      return done;
    });
  return (
    <>
      <ActionNotices action={action} />
      <button
        type="button"
        title={curl('POST', 'rest/reload', FORM)}
        disabled={action.busy}
        onClick={() => void reload()}
      >
        {TEXTS.layers.reload}
      </button>
    </>
  );
}

/** GeoWebCache's address for it, which answers with a page. */
async function ask(): Promise<string> {
  try {
    return textIn(await (await reach('rest/reload', { method: 'POST', body: FORM })).text());
  } catch (error) {
    const { message, status, requestId } = problemFrom(error);
    throw new Problem(textIn(message), status, requestId);
  }
}

function textIn(page: string): string {
  const { body } = new DOMParser().parseFromString(page, 'text/html');
  const lines = [...body.querySelectorAll('p, li')].map((line) => line.textContent?.trim());
  return lines.length > 0 ? lines.join(' ') : (body.textContent?.trim() ?? '');
}
