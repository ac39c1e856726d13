/** Divides the losses of a run by role, by turn, and by properties of its problems and messages. */

import { measureLossShares, type LossShares } from '../../credit/lossShares.ts';
import { LOSS_DIVISIONS, type LossDivision, type LossPart } from '../../domain/answer.ts';
import type { Message } from '../../domain/message.ts';
import { NOT_CLASSIFIED, type Problem } from '../../domain/problem.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';

/** Most parts of a division. Beyond that, the parts with the fewest episodes become one. */
const MOST_PARTS = 12;
/** Most characters of the name of a part, because data sets and users name parts. */
const MOST_NAME = 80;

/** A lost episode that was sampled. */
export interface ReadEpisode {
  readonly problem: Pick<Problem, 'uidSha' | 'level' | 'source'>;
  readonly episode: { readonly messages: readonly Pick<Message, 'id' | 'role'>[] };
  /** Loss by message as a share of the return range; negative if the message raised the chance. */
  readonly losses: readonly number[];
  /** The message that lost the episode; null if none is named. */
  readonly found: { readonly message: number | null };
}

/** Classes and labels of a run's problems and messages. */
export interface RunMarks {
  /** Taxonomy class by problem (uidSha). */
  readonly classes: ReadonlyMap<string, string>;
  /** The user's label by message. */
  readonly labels: ReadonlyMap<number, string>;
}

export const NO_MARKS: RunMarks = { classes: new Map(), labels: new Map() };

type By = 'role' | LossDivision['by'];
type NameOf = (of: ReadEpisode, index: number) => string;

/** Returns functions that name the part of a message, for each kind of division. */
const createPartNamers = ({ classes, labels }: RunMarks): Readonly<Record<By, NameOf>> => ({
  role: ({ episode: { messages } }, index) => messages[index]?.role ?? '',
  turn: ({ episode: { messages } }, index) => {
    const role = messages[index]?.role ?? '';
    return `${role}, message ${messages.slice(0, index + 1).filter((one) => one.role === role).length}`;
  },
  class: ({ problem: { uidSha } }) => classes.get(uidSha) ?? NOT_CLASSIFIED,
  label: ({ episode: { messages } }, index) => labels.get(messages[index]?.id ?? 0) ?? 'no label',
  level: ({ problem: { level } }) => (level === null ? 'no level' : `level ${level}`),
  source: ({ problem: { source } }) => source,
});

export interface DividedLosses {
  readonly withinReach: LossShares['withinReach'];
  /** The largest share first; empty if the shares are not known. */
  readonly parts: readonly LossPart[];
}

/** Divides losses in one way. @param lost number of lost episodes, of which `read` is a random sample */
export function divideLosses(read: readonly ReadEpisode[], lost: number, by: By, marks: RunMarks): DividedLosses {
  const nameOf = joinRarestNames(read, createPartNamers(marks)[by]);
  const { withinReach, shares } = measureLossShares(
    read.map((one) => {
      const parts = new Map<string, number>();
      for (const [index, loss] of one.losses.entries()) {
        const name = nameOf(one, index);
        parts.set(name, (parts.get(name) ?? 0) + loss);
      }
      return { problem: one.problem.uidSha, parts };
    }),
    lost,
  );
  const named = read.flatMap((one) => {
    const index = one.episode.messages.findIndex(({ id }) => id === one.found.message);
    return index === -1 ? [] : [nameOf(one, index)];
  });
  // If the amount within reach may be zero, there is nothing to divide.
  const areKnown = [...shares.values()].every(({ low }) => low !== null);
  const parts = [...(areKnown ? shares : [])].map(([name, share]) => ({
    name: toOneLine(name, MOST_NAME),
    share,
    episodes: named.filter((one) => one === name).length,
  }));
  return { withinReach, parts: parts.toSorted((a, b) => b.share.value - a.share.value) };
}

/** Joins the rarest names if there are too many. Losses do not decide which names are rare. */
function joinRarestNames(read: readonly ReadEpisode[], nameOf: NameOf): NameOf {
  const counts = new Map<string, number>();
  for (const one of read) {
    for (const name of new Set(one.losses.map((_, index) => nameOf(one, index)))) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  if (counts.size <= MOST_PARTS) {
    return nameOf;
  }
  const ordered = [...counts].toSorted((a, b) => b[1] - a[1]).map(([name]) => name);
  const kept = new Set(ordered.slice(0, MOST_PARTS - 1));
  const others = `${counts.size - kept.size} others`;
  return (of, index) => {
    const name = nameOf(of, index);
    return kept.has(name) ? name : others;
  };
}

/** Returns the divisions that say more than the one by role. @param lost as for divideLosses */
export function listLossDivisions(read: readonly ReadEpisode[], lost: number, marks: RunMarks): LossDivision[] {
  const roles = divideLosses(read, lost, 'role', marks).parts.length;
  return LOSS_DIVISIONS.flatMap((by): LossDivision[] => {
    const { parts } = divideLosses(read, lost, by, marks);
    // If every role speaks once, turns are the same as roles.
    return parts.length > (by === 'turn' ? roles : 1) ? [{ by, parts }] : [];
  });
}
