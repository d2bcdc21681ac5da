import { Problem, problemFrom, reach } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { ActionNotices } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';

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
      <button type="button" disabled={action.busy} onClick={() => void reload()}>
        {TEXTS.layers.reload}
      </button>
    </>
  );
}

/** GeoWebCache's address for it, which answers with a page. */
async function ask(): Promise<string> {
  const body = new URLSearchParams({ reload_configuration: '1' });
  try {
    return textIn(await (await reach('rest/reload', { method: 'POST', body })).text());
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
