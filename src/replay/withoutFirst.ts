/** Episodes without what the first role said: an empty message replaces it, and the others are sampled. */
import type { Problem } from '../domain/problem.ts';
import type { PolicyControl } from '../policy/policy.ts';
import { occurrenceAt } from '../team/protocol.ts';
import { grow } from './episodes.ts';
import { writeContext, extend, samplingOf, type TreeSettings } from './grow.ts';
import type { Branch, TreeMessage } from './tree.ts';

/** How many such episodes of a problem there are, and what they are like. */
export interface WithoutFirst {
  readonly count: number;
  /** Whether the context that only holds the empty message keeps its heading (`empty_plan`) or is left out. */
  readonly reading: 'bare' | 'empty_plan';
  /**
   * True: each is below an empty message of its own, which stands where a first message of its number would, so that
   * the others draw what they would draw after that one; else all are alternatives below one.
   */
  readonly apart: boolean;
}

/**
 * Grows episodes of each problem below empty first messages.
 * @returns the empty messages of each problem, in order; the episodes are below them
 * @throws CancelledError; C3Error('budget') before anything is sampled when the budget does not reach
 */
export async function growWithoutFirst(
  settings: TreeSettings,
  problems: readonly Problem[],
  { count, reading, apart }: WithoutFirst,
  control: PolicyControl,
): Promise<TreeMessage[][]> {
  const firsts: TreeMessage[][] = [];
  for (const problem of problems) {
    const own: TreeMessage[] = [];
    for (let number = 0; number < (apart ? count : 1); number++) {
      own.push(await emptyFirst(settings, problem, number, control));
    }
    firsts.push(own);
  }
  const headed = reading === 'empty_plan';
  let branches: Branch[] = firsts.flat().map((message) => ({ problem: message.problem, message, headed }));
  if (!apart) {
    await grow(settings, branches, [count], control);
    return firsts;
  }
  for (let position = 1; position < settings.protocol.occurrences.length; position++) {
    const messages = await extend(settings, branches, position, 1, control, undefined, { kind: 'continuations' });
    branches = messages.map((message) => ({ problem: message.problem, message, headed }));
  }
  return firsts;
}

/** The first message of an episode, empty, as if somebody had typed nothing. */
async function emptyFirst(
  settings: TreeSettings,
  problem: Problem,
  number: number,
  control: PolicyControl,
): Promise<TreeMessage> {
  const position = 0;
  const { role } = occurrenceAt(settings.protocol, position);
  const { context, key } = await writeContext(settings, { problem, message: null }, position);
  const sampling = samplingOf(settings, position);
  const answer = await settings.policy.typed({ role, context, text: '', temperature: sampling.temperature }, control);
  return {
    problem,
    position,
    parent: null,
    sibling: number,
    alternative: number,
    replay: null,
    context,
    contextKey: key,
    streamKey: '',
    sampling,
    answer,
    score: undefined,
    children: [],
    stored: undefined,
  };
}
