/** Grows episodes in which an empty message replaces that of the first role. */

import type { Problem } from '../domain/problem.ts';
import type { PolicyControl } from '../policy/policy.ts';
import { requireOccurrence } from '../team/protocol.ts';
import { growEpisodes } from './episodes.ts';
import { writeContext, extend, findRoleSampling, type TreeSettings } from './grow.ts';
import type { Branch, TreeMessage } from './tree.ts';

/** The number and kind of such episodes for a problem. */
export interface WithoutFirst {
  readonly count: number;
  /** `empty_plan` keeps the heading of a context with only the empty message, `bare` drops it. */
  readonly reading: 'bare' | 'empty_plan';
  /**
   * True: each episode is below an empty message of its own, which has the number of a first
   * message, so that the others draw the same random numbers as after that one. False: all episodes
   * are alternatives below one empty message.
   */
  readonly apart: boolean;
}

/**
 * Grows episodes of each problem below empty first messages.
 * @returns the empty messages of each problem, in order; the episodes are below them
 * @throws CancelledError; C3Error('budget') before anything is sampled if the budget is too small
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
      own.push(await createEmptyFirst(settings, problem, number, control));
    }
    firsts.push(own);
  }
  const headed = reading === 'empty_plan';
  let branches: Branch[] = firsts.flat().map((message) => ({ problem: message.problem, message, headed }));
  if (!apart) {
    await growEpisodes(settings, branches, [count], control);
    return firsts;
  }
  for (let position = 1; position < settings.protocol.occurrences.length; position++) {
    const messages = await extend(settings, branches, position, 1, control, undefined, { kind: 'continuations' });
    branches = messages.map((message) => ({ problem: message.problem, message, headed }));
  }
  return firsts;
}

/** Returns an empty first message of an episode, as if the user had typed nothing. */
async function createEmptyFirst(
  settings: TreeSettings,
  problem: Problem,
  number: number,
  control: PolicyControl,
): Promise<TreeMessage> {
  const position = 0;
  const { role } = requireOccurrence(settings.protocol, position);
  const { context, key } = await writeContext(settings, { problem, message: null }, position);
  const sampling = findRoleSampling(settings, position);
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
