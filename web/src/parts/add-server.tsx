import { useState } from 'react';
import { addressOf, goTo } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { Button, Form, Input } from './basics.tsx';

/** The name of the built-in map, which a server without a configuration has. */
const BUILT_IN = 'world';

/** Nothing but the built-in map has been declared yet. */
export function isFirstRun(layers: readonly string[] | null): boolean {
  return layers?.length === 1 && layers[0] === BUILT_IN;
}

/** Leads to the layers of a map server. */
export function AddServer() {
  const [url, setUrl] = useState('');
  return (
    <Form className="row" onSubmit={() => goTo(addressOf('add', '', { url }))}>
      <Input
        label={TEXTS.firstRun.address}
        type="url"
        pattern="https?://.+"
        required
        size={44}
        placeholder="https://maps.example.org/wms"
        value={url}
        onText={setUrl}
      />
      <Button type="submit" kind="primary beside-fields">
        {TEXTS.add.read}
      </Button>
    </Form>
  );
}
