/** Questions about an order: rules about pairs decide the place of everybody. */
import type { HashedStream } from '../hashedStream.ts';
import { drawn, shuffled, type LogicCase } from './logicCase.ts';
import { PEOPLE, PLACES } from './logicWords.ts';

export interface OrderingRule {
  readonly people: number;
  /** Whether rules come in any order and say `after` as well as `before`; else one continues the other. */
  readonly mixed: boolean;
}

/**
 * Draws an order and a rule for each two neighbors in it, which leave no other order; asks who has some place.
 * Unmixed questions ask for the first or the last.
 */
export function drawOrdering(stream: HashedStream, { people, mixed }: OrderingRule): LogicCase {
  const order = drawn(stream, PEOPLE, people);
  const pairs = order.slice(1).map((later, index) => [order[index] ?? '', later] as const);
  const rules = (mixed ? shuffled(stream, pairs) : pairs).map(([earlier, later]) =>
    mixed && stream.chance(0.5) ? `Put ${later} after ${earlier}.` : `Put ${earlier} before ${later}.`,
  );
  const last = people - 1;
  const place = mixed ? stream.integer(0, last) : stream.integer(0, 1) * last;
  const right = order[place] ?? '';
  return {
    premises: rules.join(' '),
    asked: `Who is ${place === last ? 'last' : (PLACES[place] ?? '')}?`,
    right,
    wrong: drawn(
      stream,
      order.filter((one) => one !== right),
      3,
    ),
    steps: order,
  };
}
