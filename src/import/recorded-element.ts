import type { WireElement } from '../geowebcache/wire-element.ts';

/** Records which values are read, so that no element is dropped silently. */
export function recorded(root: WireElement) {
  const read = new Set<WireElement>();
  const leaves: { readonly element: WireElement; readonly path: string }[] = [];

  function wrapped(element: WireElement, path: readonly string[]): WireElement {
    const children = element.children.map((child) => wrapped(child, [...path, child.name]));
    const isEmpty = element.text.trim() === '' && !element.attributes?.size;
    if (children.length === 0 && path.length > 0 && !isEmpty) leaves.push({ element, path: path.join('.') });
    const { text, attributes, ...rest } = element;
    const watched = {
      ...rest,
      children,
      get text() {
        read.add(element);
        return text;
      },
    };
    if (!attributes) return watched;
    const get = () => {
      read.add(element);
      return attributes;
    };
    return Object.defineProperty(watched, 'attributes', { enumerable: true, get });
  }

  return {
    element: wrapped(root, []),
    /** Paths of the elements with a value that nothing has read, e.g. `wmsUrl.text`. */
    unread: () => [...new Set(leaves.filter(({ element }) => !read.has(element)).map(({ path }) => path))],
  };
}
