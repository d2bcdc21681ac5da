const EDITOR = '/src/storage/bundle/bundle-editor.ts';
const COUNTING = [
  /this\.#statements\.addToPage\.run\([^;]*\);/,
  /this\.#statements\.removeEmptyPages\.run\(\);/,
];

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (!url.endsWith(EDITOR)) return loaded;
  let source = String(loaded.source);
  for (const statement of COUNTING) {
    if (!statement.test(source))
      throw new Error(`${EDITOR} no longer counts with ${statement}; mend this bench`);
    source = source.replace(statement, ';');
  }
  return { ...loaded, source };
}
