/**
 * `fanout_unique`: at the end of episodes an equal message in an equal context has a score that is known, so no
 * evaluator call is made for it. Another message is drawn for this call, until as many are distinct as were planned in
 * the context, or twice as many were drawn. What is learned of them: credit/redrawn.ts.
 */
import type { PolicyControl } from '../policy/policy.ts';
import { bookInOrder, fill, type Opening, type TreeSettings } from './grow.ts';
import { ScoreBook } from './reuse.ts';
import { callOf, saidBy, type TreeMessage } from './tree.ts';

/** Draws in a context, at most, for each that was planned. */
const MOST_DRAWS = 2;
/** Of fewer messages the last one, which alone can be new, has nothing to be compared with. */
const FEWEST = 3;

/** The messages of one context in the order of their drawing; those after the first `planned` are drawn again. */
export interface Drawn<Node = TreeMessage> {
  readonly planned: number;
  readonly nodes: Node[];
}

/** How many messages are drawn next in a context; 0 where there are enough. */
export function countRedraws({ planned, nodes: messages }: Drawn<Pick<TreeMessage, 'answer' | 'score'>>): number {
  if (planned < FEWEST) {
    return 0;
  }
  const distinct = new Set(messages.map(saidBy)).size;
  const calls = messages.reduce((sum, message) => sum + callOf(message), 0);
  return Math.max(0, Math.min(planned - distinct, planned - calls, MOST_DRAWS * planned - messages.length));
}

/**
 * `fill` for the last messages of episodes, with others in the place of equal ones. Those are children of the first
 * branch with their context, after all that were planned.
 * @returns what was planned, in the order of openings
 * @throws as `fill`
 */
export async function fillDistinct(
  settings: TreeSettings,
  openings: readonly Opening[],
  position: number,
  control: PolicyControl,
): Promise<TreeMessage[]> {
  const together = { ...settings, scores: settings.scores ?? new ScoreBook() };
  const planned = await fill(together, openings, position, control);
  release(settings, planned);
  const all = [...planned];
  const contexts = [
    ...Map.groupBy(planned, ({ problem, contextKey }) => `${problem.uidSha} ${contextKey}`).values(),
  ].map((messages): Drawn => ({ planned: messages.length, nodes: [...messages] }));
  const numbers = new Map<string, number>();
  for (const message of planned) {
    numbers.set(alternativeOf(message), Math.max(numbers.get(alternativeOf(message)) ?? 0, (message.replay ?? 0) + 1));
  }
  for (;;) {
    const next = contexts.flatMap((context) => Array.from({ length: countRedraws(context) }, () => context));
    if (next.length === 0) {
      break;
    }
    const added = new Map<TreeMessage | null, number>();
    const again = next.flatMap(({ nodes: [first] }): Opening[] => {
      if (first === undefined) {
        return [];
      }
      const { problem, parent, alternative } = first;
      const number = numbers.get(alternativeOf(first)) ?? 0;
      const earlier = added.get(parent) ?? 0;
      numbers.set(alternativeOf(first), number + 1);
      added.set(parent, earlier + 1);
      const sibling = (parent?.children.length ?? 0) + earlier;
      return [{ branch: { problem, message: parent }, place: { sibling, alternative, replay: number, redraw: true } }];
    });
    const found = await fill(together, again, position, control);
    release(settings, found);
    all.push(...found);
    found.forEach((message, index) => next[index]?.nodes.push(message));
  }
  bookInOrder(settings, all);
  return planned;
}

const alternativeOf = ({ problem, alternative }: TreeMessage): string => `${problem.uidSha} ${alternative}`;

/** Gives back the calls that were booked and not made. */
function release({ budget }: TreeSettings, messages: readonly TreeMessage[]): void {
  budget.release(messages.filter(({ score }) => score?.reused === true).length);
}
