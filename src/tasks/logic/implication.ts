/** Questions about a chain of implications, read forward from what is there or backward from what is not. */
import type { HashedStream } from '../hashedStream.ts';
import { drawn, shuffled, type LogicCase } from './logicCase.ts';
import { WEATHER } from './logicWords.ts';

export interface ImplicationRule {
  /** Implications of the chain. */
  readonly links: number;
  /** forward: the first holds, so all do. backward: the last does not hold, so none does (contraposition). */
  readonly reading: 'forward' | 'backward' | 'either';
  /** Whether an implication may be about there being none of something. */
  readonly negated: boolean;
}

/** There is some of it, or none. */
interface Literal {
  readonly thing: string;
  readonly holds: boolean;
}

/** Implications beside the chain that decide nothing. */
const TRAPS = 2;

/**
 * Draws a chain of implications, a fact at one end of it, and implications that hang on the chain by one side: they
 * lead into it where it is read forward, and out of it where it is read backward, so that nothing follows about their
 * other side. Each thing of theirs occurs once, so the chain is all that can be concluded.
 */
export function drawImplication(stream: HashedStream, { links, reading, negated }: ImplicationRule): LogicCase {
  const things = drawn(stream, WEATHER, links + 1 + TRAPS);
  const literals = things.map((thing): Literal => ({ thing, holds: !negated || stream.chance(0.5) }));
  const chain = literals.slice(0, links + 1);
  const traps = literals.slice(links + 1);
  const backward = reading === 'backward' || (reading === 'either' && stream.chance(0.5));
  const linked = chain.slice(1).map((then, index) => implied(chain[index] ?? then, then));
  const hung = traps.map((trap) => {
    const on = stream.pick(chain);
    return backward ? implied(on, trap) : implied(trap, on);
  });
  // What follows, one after the other; the fact comes first.
  const [fact, ...follows] = backward ? chain.map(opposite).reverse() : chain;
  const open = traps.flatMap((trap) => [trap, opposite(trap)]);
  // A far conclusion: the nearest one is the rule that names the fact, read alone.
  const right = stream.pick(follows.slice(1));
  return {
    premises: `${shuffled(stream, [...linked, ...hung]).join(' ')} There is ${fact === undefined ? '' : words(fact)}.`,
    asked: 'What follows?',
    right: words(right),
    wrong: drawn(stream, [...open, ...follows.map(opposite)].map(words), 3),
    steps: [fact ?? right, ...follows].map(words),
  };
}

const opposite = ({ thing, holds }: Literal): Literal => ({ thing, holds: !holds });
const words = ({ thing, holds }: Literal): string => (holds ? thing : `no ${thing}`);
const implied = (condition: Literal, then: Literal): string => `If ${words(condition)} then ${words(then)}.`;
