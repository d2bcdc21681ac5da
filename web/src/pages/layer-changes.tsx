import { useState } from 'react';
import { ask, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { ProblemNotice } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { curl } from '../parts/curl.ts';
import { addressOf, goTo } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

const WORDS = TEXTS.layer;

/** What an administrator can do to a layer's declaration; one of the configuration file can only be copied. */
export function LayerChanges({ layer }: { readonly layer: LayerInfo }) {
  const caller = useCaller();
  const action = useAction();
  const [leaving, setLeaving] = useState(false);
  const [enabled, setEnabled] = useState((layer.document as { enabled?: boolean } | null)?.enabled !== false);
  if (!may(caller, 'admin')) return null;
  const path = `api/v1/layers/${part(layer.name)}`;
  const own = layer.origin === 'database';
  const toggle = () =>
    action.run(async () => {
      const { data, version } = await ask<LayerInfo>('GET', path);
      await send('PUT', path, { ...(data.document as object), enabled: !enabled }, { version });
      setEnabled(!enabled);
      return null;
    });
  const remove = () =>
    action.run(async () => {
      await send('DELETE', path);
      goTo(addressOf('layers'));
      return null;
    });
  return (
    <>
      <ProblemNotice problem={action.problem} />
      {own && (
        <a className="button" href={addressOf('add', layer.name)}>
          {WORDS.edit}
        </a>
      )}
      <a className="button" href={addressOf('add', '', { copy: layer.name })}>
        {WORDS.copy}
      </a>
      {own && (
        <button
          type="button"
          title={curl('PUT', path, { ...(layer.document as object), enabled: !enabled })}
          disabled={action.busy}
          onClick={() => void toggle()}
        >
          {enabled ? WORDS.disable : WORDS.enable}
        </button>
      )}
      {own && (
        <button type="button" className="danger" disabled={action.busy} onClick={() => setLeaving(true)}>
          {WORDS.remove}
        </button>
      )}
      {leaving && (
        <Confirm
          title={WORDS.removeTitle(layer.name)}
          action={WORDS.removeTitle(layer.name)}
          name={layer.name}
          command={curl('DELETE', path)}
          onConfirm={() => void remove()}
          onClose={() => setLeaving(false)}
        >
          {WORDS.removeText}
        </Confirm>
      )}
    </>
  );
}
