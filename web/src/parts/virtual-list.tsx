import { type KeyboardEvent, memo, type ReactNode, useEffect, useRef, useState } from 'react';

/** Rows kept above and below what is seen. */
const MARGIN = 8;

/** A list of any length of which only what is seen is drawn. Rows have one height, in pixels. */
export function VirtualList<T>(props: {
  items: readonly T[];
  rowHeight: number;
  label: string;
  keyOf: (item: T) => string | number;
  children: (item: T) => ReactNode;
}) {
  const { items, rowHeight } = props;
  const box = useRef<HTMLDivElement>(null);
  /** The row that gets the focus as soon as it is drawn. */
  const wanted = useRef<number | null>(null);
  const [view, setView] = useState({ first: 0, count: 30 });

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => {
      const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - MARGIN);
      const count = Math.ceil(element.clientHeight / rowHeight) + 2 * MARGIN;
      // A row that leaves would take the focus with it.
      const row =
        element.contains(document.activeElement) && document.activeElement?.closest('[aria-posinset]');
      const place = row ? Number(row.getAttribute('aria-posinset')) - 1 : first;
      if (place < first || place >= first + count) element.focus({ preventScroll: true });
      setView((before) => (before.first === first && before.count === count ? before : { first, count }));
    };
    look();
    element.addEventListener('scroll', look, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      sized.disconnect();
    };
  }, [rowHeight]);

  const focusWanted = () => {
    const row = box.current?.querySelector(`[aria-posinset="${wanted.current}"]`);
    if (!row) return;
    wanted.current = null;
    row.querySelector('a')?.focus({ preventScroll: true });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows are drawn when the view changes
  useEffect(focusWanted, [view]);

  const jump = (event: KeyboardEvent) => {
    if (event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    wanted.current = event.key === 'Home' ? 1 : items.length;
    box.current?.scrollTo({ top: event.key === 'Home' ? 0 : items.length * rowHeight });
    focusWanted();
  };

  const seen = items.slice(view.first, view.first + view.count);
  return (
    <section
      ref={box}
      className="virtual"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
      tabIndex={0}
      aria-label={props.label}
      onKeyDown={jump}
      style={{ maxHeight: '72vh', height: items.length * rowHeight + 2 }}
    >
      <ul style={{ height: items.length * rowHeight }}>
        {seen.map((item, place) => (
          <MemoRow
            key={props.keyOf(item)}
            item={item}
            place={view.first + place}
            of={items.length}
            height={rowHeight}
            draw={props.children as (item: unknown) => ReactNode}
          />
        ))}
      </ul>
    </section>
  );
}

/** A row that stays in view while the list is scrolled is not drawn again. */
const MemoRow = memo(function Row(props: {
  item: unknown;
  place: number;
  of: number;
  height: number;
  draw: (item: unknown) => ReactNode;
}) {
  const { item, place, of, height, draw } = props;
  return (
    <li
      style={{ height, transform: `translateY(${place * height}px)` }}
      aria-setsize={of}
      aria-posinset={place + 1}
    >
      {draw(item)}
    </li>
  );
});
