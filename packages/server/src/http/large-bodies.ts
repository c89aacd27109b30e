import { givingWay } from './giving-way.ts';

/** Parsing a smaller body takes less than a millisecond. */
export const largeBodyBytes = 64 * 1024;

const parsing = new Map<string, Promise<void>>();

/**
 * Parses the bodies of a caller one after the other, each in a turn of the event loop in which no
 * other long work begins: so twenty large bodies delay a small one by one of them. Other requests
 * are answered again before the result is used.
 */
export function parseInTurn<T>(caller: string, parse: () => T | Promise<T>): Promise<T> {
  const giveWay = givingWay();
  const parsed = (parsing.get(caller) ?? Promise.resolve()).then(giveWay).then(parse);
  const ended = parsed.then(
    () => {},
    () => {},
  );
  parsing.set(caller, ended);
  ended.then(() => {
    if (parsing.get(caller) === ended) parsing.delete(caller);
  });
  return parsed.then((value) => giveWay().then(() => value));
}
