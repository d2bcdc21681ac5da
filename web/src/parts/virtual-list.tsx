import { memo, type ReactNode, useEffect, useRef, useState } from 'react';

/** Rows kept above and below what is seen. */
const MARGIN = 8;

/** A list of any length of which only what is seen is drawn. Rows have one height, in pixels. */
export function VirtualList<T>(props: {
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly label: string;
  readonly keyOf: (item: T) => string | number;
  readonly children: (item: T) => ReactNode;
}) {
  const { items, rowHeight } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ first: 0, count: 30 });

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => {
      const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - MARGIN);
      const count = Math.ceil(element.clientHeight / rowHeight) + 2 * MARGIN;
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

  const seen = items.slice(view.first, view.first + view.count);
  return (
    <section
      ref={box}
      className="virtual"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
      tabIndex={0}
      aria-label={props.label}
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
  readonly item: unknown;
  readonly place: number;
  readonly of: number;
  readonly height: number;
  readonly draw: (item: unknown) => ReactNode;
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
