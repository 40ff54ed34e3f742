// A value that views can follow: `get`, `set`, and `useStore` for components.

import { useEffect, useState } from "../vendor/preact.js";

export function store(value) {
  const followers = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const follower of [...followers]) follower(next);
    },
    follow(follower) {
      followers.add(follower);
      return () => followers.delete(follower);
    },
  };
}

export function useStore(source) {
  const [value, setValue] = useState(source.get());
  useEffect(() => {
    setValue(source.get());
    return source.follow((next) => setValue(next));
  }, [source]);
  return value;
}
