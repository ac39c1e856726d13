/** Grows whole episodes level by level, as their protocol unfolds. */

import type { PolicyControl } from '../policy/policy.ts';
import { countFanoutCalls } from '../team/rounds.ts';
import {
  extend,
  fillOpenings,
  makePlace,
  type Growth,
  type Place,
  type TreeSettings,
  markReused,
  type Opening,
} from './grow.ts';
import { ScoreBook } from './reuse.ts';
import { type Branch, type TreeMessage, countMessageCalls, makeMessageKey } from './tree.ts';
import { advance } from './unfold.ts';

const ALTERNATIVES: Growth = { kind: 'alternatives', first: 0 };
const CONTINUATIONS: Growth = { kind: 'continuations' };

/**
 * Grows whole episodes below the branches, with fanout[i] messages in the i-th place, or 1 if it is
 * missing. The first messages are alternatives, and the others continue them. The m-th
 * continuations of all alternatives draw the same random numbers. Two continuations of one
 * alternative share none.
 * @returns the roots, in order
 * @throws CancelledError; C3Error('budget') before anything is sampled if the budget is too small
 *   for all leaves
 */
export async function growEpisodes(
  settings: TreeSettings,
  branches: readonly Branch[],
  fanout: readonly number[],
  control: PolicyControl,
): Promise<TreeMessage[]> {
  settings.budget.check(branches.length * countFanoutCalls(settings.protocol, fanout));
  let roots: TreeMessage[] | undefined;
  let frontier = branches;
  for (let level = 0; frontier.length > 0; level++) {
    const count = fanout[level] ?? 1;
    const growth = level === 0 ? ALTERNATIVES : CONTINUATIONS;
    const messages = await growLevel(settings, frontier, control, (branch) =>
      Array.from({ length: count }, (_, index) => makePlace(branch, 0, index, count, growth)),
    );
    roots ??= messages.flat();
    frontier = messages.flat().map((message) => ({ problem: message.problem, message }));
  }
  return roots ?? [];
}

/**
 * Grows a spine below every branch: one episode, with alternatives to each of its messages that are
 * continued once. fanout[i] messages answer its i-th context, or 1 if it is missing. The first is
 * the episode's own. Streams are shared only among continuations that are meant to share them.
 * @returns the first messages, in order
 * @throws the errors of `growEpisodes`
 */
export async function growSpine(
  settings: TreeSettings,
  branches: readonly Branch[],
  fanout: readonly number[],
  control: PolicyControl,
): Promise<TreeMessage[]> {
  settings.budget.check(branches.length * countFanoutCalls(settings.protocol, fanout, 'spine'));
  let roots: TreeMessage[] | undefined;
  let frontier = branches;
  let spine = new Set(branches);
  // Alternatives are numbered across all messages, because their continuations draw by this number.
  let numbered = 0;
  for (let level = 0; frontier.length > 0; level++) {
    const count = fanout[level] ?? 1;
    const first = numbered;
    const messages = await growLevel(settings, frontier, control, (branch, index) =>
      spine.has(frontier[index] ?? branch)
        ? Array.from({ length: count }, (_, sibling) => ({ sibling, alternative: first + sibling, replay: null }))
        : [makePlace(branch, 0, 0, 1, CONTINUATIONS)],
    );
    roots ??= messages.flat();
    numbered += count;
    const following = messages.flatMap((own, index) => {
      const before = frontier[index];
      return own.map((message, sibling) => ({
        branch: { problem: message.problem, message },
        continues: sibling === 0 && before !== undefined && spine.has(before),
      }));
    });
    frontier = following.map(({ branch }) => branch);
    spine = new Set(following.flatMap(({ branch, continues }) => (continues ? [branch] : [])));
  }
  return roots ?? [];
}

/**
 * Grows the next messages of all branches, by branch. A branch that ends has none and keeps its
 * closing events.
 * @param placesOf returns the places of the messages below a branch, by its index
 */
export async function growLevel(
  settings: TreeSettings,
  branches: readonly Branch[],
  control: PolicyControl,
  placesOf: (branch: Branch, index: number) => readonly Place[],
): Promise<(readonly TreeMessage[])[]> {
  const advanced = await Promise.all(branches.map((branch) => advance(settings, branch, control.signal)));
  const waiting = new Map<number, number[]>();
  advanced.forEach(({ branch, position }, index) => {
    if (position !== null) {
      waiting.set(position, [...(waiting.get(position) ?? []), index]);
    } else if (branch.message !== null && branch.events !== undefined) {
      branch.message.after = branch.events;
    }
  });
  const messages: (readonly TreeMessage[])[] = branches.map(() => []);
  for (const [position, indices] of waiting) {
    const openings = indices.map((index) => {
      const branch = advanced[index]?.branch;
      return branch === undefined ? [] : placesOf(branch, index).map((place) => ({ branch, place }));
    });
    const isLast = position === settings.protocol.occurrences.length - 1;
    const sample = settings.unique === true && settings.reuse !== false && isLast ? fillDistinct : fillOpenings;
    const grown = await sample(settings, openings.flat(), position, control);
    let start = 0;
    indices.forEach((index, place) => {
      const end = start + (openings[place]?.length ?? 0);
      messages[index] = grown.slice(start, end);
      start = end;
    });
  }
  return messages;
}

/** Alternatives that are to be continued to the ends of their episodes. */
export interface Continuing {
  readonly alternatives: readonly TreeMessage[];
  /** The number of continuations of each alternative. */
  readonly replays: number;
  /**
   * The number of each alternative's only continuation, if they do not count from 0. An alternative
   * may then be repeated.
   */
  readonly numbers: readonly number[] | null;
  /** Called for every new message as soon as it exists. */
  readonly onMessage: (message: TreeMessage, alternative: TreeMessage) => void;
  /** Called for every episode that ends. If it ends with its alternative, this happens once only. */
  readonly onEnd: (leaf: TreeMessage, alternative: TreeMessage, number: number) => void;
}

/**
 * Continues alternatives in episodes that unfold.
 * @throws CancelledError; C3Error
 */
export async function continueRounds(
  settings: TreeSettings,
  { alternatives, replays, numbers, onMessage, onEnd }: Continuing,
  control: PolicyControl,
): Promise<void> {
  const alternativeOf = new Map<TreeMessage, TreeMessage>(alternatives.map((message) => [message, message]));
  let frontier = alternatives.flatMap((message, index) =>
    (numbers === null ? Array.from({ length: replays }, (_, m) => m) : [numbers[index] ?? 0]).map((number) => ({
      message,
      number,
    })),
  );
  for (let level = 0; frontier.length > 0; level++) {
    const advanced = await Promise.all(
      frontier.map(({ message, number }) =>
        advance(settings, { problem: message.problem, message }, control.signal, level === 0 ? number : undefined),
      ),
    );
    const waiting = Map.groupBy(advanced.keys(), (index) => advanced[index]?.position ?? null);
    for (const index of waiting.get(null) ?? []) {
      const { message = null, number = 0 } = frontier[index] ?? {};
      const alternative = message === null ? undefined : alternativeOf.get(message);
      if (message === null || alternative === undefined || (level === 0 && numbers === null && number > 0)) {
        continue;
      }
      message.after ??= advanced[index]?.branch.events ?? [];
      onEnd(message, alternative, number);
    }
    const following: { message: TreeMessage; number: number }[] = [];
    for (const [position, indices] of waiting) {
      if (position === null) {
        continue;
      }
      const some = indices.flatMap((index) => advanced[index]?.branch ?? []);
      const own = indices.map((index) => frontier[index]?.number ?? 0);
      const grown = await extend(
        settings,
        some,
        position,
        1,
        control,
        (message) => {
          const alternative = message.parent === null ? undefined : alternativeOf.get(message.parent);
          if (alternative !== undefined) {
            alternativeOf.set(message, alternative);
            onMessage(message, alternative);
          }
        },
        level === 0 ? { kind: 'continuations', replays: own } : { kind: 'continuations' },
      );
      following.push(...grown.map((message) => ({ message, number: message.replay ?? 0 })));
    }
    frontier = following;
  }
}

// `fanout_unique`: at the end of episodes, an equal message in an equal context has a known score
// and needs no evaluator call. Instead, another message is drawn for this call, until the planned
// number of distinct messages is reached or twice the planned number is drawn. Their credits come
// from credit/redrawn.ts.

/** The most draws in a context for each planned message. */
const MOST_DRAWS = 2;
/** With fewer planned messages, the only redrawn one would have nothing to be compared with. */
const FEWEST = 3;

/** The messages of one context in the order of drawing. Those after the first `planned` are redrawn. */
interface Drawn<Node = TreeMessage> {
  readonly planned: number;
  readonly nodes: Node[];
}

/** Returns the number of messages to draw next in a context, or 0 if there are enough. */
export function countRedraws({ planned, nodes: messages }: Drawn<Pick<TreeMessage, 'answer' | 'score'>>): number {
  if (planned < FEWEST) {
    return 0;
  }
  const distinct = new Set(messages.map(makeMessageKey)).size;
  const calls = messages.reduce((sum, message) => sum + countMessageCalls(message), 0);
  return Math.max(0, Math.min(planned - distinct, planned - calls, MOST_DRAWS * planned - messages.length));
}

/**
 * Does `fillOpenings` for the last messages of episodes, and draws others for equal ones. These
 * are children of the first branch with their context, after all planned messages.
 * @returns the planned messages, in the order of openings
 * @throws the errors of `fillOpenings`
 */
async function fillDistinct(
  settings: TreeSettings,
  openings: readonly Opening[],
  position: number,
  control: PolicyControl,
): Promise<TreeMessage[]> {
  const together = { ...settings, scores: settings.scores ?? new ScoreBook() };
  const planned = await fillOpenings(together, openings, position, control);
  releaseReused(settings, planned);
  const all = [...planned];
  const contexts = [
    ...Map.groupBy(planned, ({ problem, contextKey }) => `${problem.uidSha} ${contextKey}`).values(),
  ].map((messages): Drawn => ({ planned: messages.length, nodes: [...messages] }));
  const numbers = new Map<string, number>();
  for (const message of planned) {
    numbers.set(
      makeAlternativeKey(message),
      Math.max(numbers.get(makeAlternativeKey(message)) ?? 0, (message.replay ?? 0) + 1),
    );
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
      const number = numbers.get(makeAlternativeKey(first)) ?? 0;
      const earlier = added.get(parent) ?? 0;
      numbers.set(makeAlternativeKey(first), number + 1);
      added.set(parent, earlier + 1);
      const sibling = (parent?.children.length ?? 0) + earlier;
      return [{ branch: { problem, message: parent }, place: { sibling, alternative, replay: number, redraw: true } }];
    });
    const found = await fillOpenings(together, again, position, control);
    releaseReused(settings, found);
    all.push(...found);
    found.forEach((message, index) => next[index]?.nodes.push(message));
  }
  markReused(settings, all);
  return planned;
}

const makeAlternativeKey = ({ problem, alternative }: TreeMessage): string => `${problem.uidSha} ${alternative}`;

/** Releases the calls that were booked and not made. */
function releaseReused({ budget }: TreeSettings, messages: readonly TreeMessage[]): void {
  budget.release(messages.filter(({ score }) => score?.reused === true).length);
}
