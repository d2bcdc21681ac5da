export function getOrCreate<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = make();
  map.set(key, value);
  return value;
}

/** Computes a fact about an object once, for as long as the object is in use. */
export function remembered<Key extends object, Fact>(find: (key: Key) => Fact): (key: Key) => Fact {
  const known = new WeakMap<Key, Fact>();
  return (key) => getOrCreate(known, key, () => find(key));
}
