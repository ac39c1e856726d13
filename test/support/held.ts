/** Held objects for tests. */

import type { Held } from '../../src/shared/holds.ts';

/** Wraps an object that does not have to be released. */
export const held = <Thing extends object>(thing: Thing): Held<Thing> => ({
  ...thing,
  [Symbol.asyncDispose]: () => Promise.resolve(),
});
