import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, memo, type ReactNode, useCallback, useEffect, useRef } from 'react';

/** Rows that are drawn above and below the visible ones. */
const MARGIN = 8;

/** A long list, of which only the visible rows and the one with the focus are drawn. */
export function VirtualList<T>(props: {
  items: readonly T[];
  /** Minimum height of a row in pixels. */
  rowHeight: number;
  label: string;
  keyOf: (item: T) => string | number;
  children: (item: T) => ReactNode;
}) {
  const { items, rowHeight, keyOf } = props;
  const box = useRef<HTMLElement>(null);
  const focused = useRef<number | null>(null);
  /** The row that gets the focus as soon as it is drawn. */
  const wanted = useRef<number | null>(null);
  // A new function would make the virtualizer measure all rows again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key of an item stays
  const keyAt = useCallback((place: number) => keyOf(items[place] as T), [items]);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: keyAt,
    overscan: MARGIN,
    rangeExtractor: (range) => withPlace(range, focused.current),
  });
  const focusWanted = () => {
    const row = box.current?.querySelector(`[data-index="${wanted.current}"]`);
    if (!row) return;
    wanted.current = null;
    row.querySelector('a')?.focus({ preventScroll: true });
  };
  useEffect(focusWanted);
  const jump = (event: KeyboardEvent) => {
    if (event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    wanted.current = event.key === 'Home' ? 0 : items.length - 1;
    list.scrollToIndex(wanted.current);
    focusWanted();
  };
  const height = list.getTotalSize();
  return (
    <section
      ref={box}
      className="virtual"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
      tabIndex={0}
      aria-label={props.label}
      onKeyDown={jump}
      style={{ height: height + 2 }}
    >
      <ul style={{ height }}>
        {list.getVirtualItems().map(({ index, key, start }) => (
          <li
            key={key}
            ref={list.measureElement}
            data-index={index}
            style={{ minHeight: rowHeight, transform: `translateY(${start}px)` }}
            aria-setsize={items.length}
            aria-posinset={index + 1}
            onFocus={() => {
              focused.current = index;
            }}
            onBlur={() => {
              focused.current = null;
            }}
          >
            <Row item={items[index]} draw={props.children as (item: unknown) => ReactNode} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Adds the row with the focus, which would lose it if it were removed. */
function withPlace(range: Range, place: number | null): number[] {
  const seen = defaultRangeExtractor(range);
  if (place === null || place >= range.count || seen.includes(place)) return seen;
  return [...seen, place].sort((a, b) => a - b);
}

/** Memoized, so that rows that stay in view are not drawn again while the list is scrolled. */
const Row = memo(function Row({ item, draw }: { item: unknown; draw: (item: unknown) => ReactNode }) {
  return draw(item);
});
