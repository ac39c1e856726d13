/** What tests hand out as held. */
import type { Held } from '../../src/shared/holds.ts';

/** Something that need not be given back. */
export const held = <Thing extends object>(thing: Thing): Held<Thing> => ({
  ...thing,
  [Symbol.asyncDispose]: () => Promise.resolve(),
});
