/** What the episodes of a run lost, divided by role, by turn, and by what the data set says of the problems. */
import { lossShares, type LossShares } from '../../credit/lossShares.ts';
import { LOSS_DIVISIONS, type LossDivision, type LossPart } from '../../domain/answer.ts';
import type { Message } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';

/** A lost episode that was read. */
export interface ReadEpisode {
  readonly problem: Pick<Problem, 'uidSha' | 'level' | 'source'>;
  readonly episode: { readonly messages: readonly Pick<Message, 'id' | 'role'>[] };
  /** What each message lost, as a share of the range; negative where it raised the chance. */
  readonly losses: readonly number[];
  /** The message that lost it; null where none is named. */
  readonly found: { readonly message: number | null };
}

/** The name of the part that a message belongs to. */
const PARTS: Readonly<Record<'role' | LossDivision['by'], (of: ReadEpisode, index: number) => string>> = {
  role: ({ episode: { messages } }, index) => messages[index]?.role ?? '',
  turn: ({ episode: { messages } }, index) => {
    const role = messages[index]?.role ?? '';
    return `${role}, message ${String(messages.slice(0, index + 1).filter((one) => one.role === role).length)}`;
  },
  level: ({ problem: { level } }) => (level === null ? 'no level' : `level ${String(level)}`),
  source: ({ problem: { source } }) => source,
};

export interface DividedLosses {
  readonly withinReach: LossShares['withinReach'];
  /** The largest share first; none where shares are not known. */
  readonly parts: readonly LossPart[];
}

/** Losses divided in one way. @param lost how many episodes were lost, of which `read` are a random sample */
export function divideLosses(read: readonly ReadEpisode[], lost: number, by: keyof typeof PARTS): DividedLosses {
  const nameOf = PARTS[by];
  const { withinReach, shares } = lossShares(
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
  // Where it may as well be nothing that was within reach, there is nothing to divide.
  const areKnown = [...shares.values()].every(({ low }) => low !== null);
  const parts = [...(areKnown ? shares : [])].map(([name, share]) => ({
    name,
    share,
    episodes: named.filter((one) => one === name).length,
  }));
  return { withinReach, parts: parts.toSorted((a, b) => b.share.value - a.share.value) };
}

/** Every other division than by role that says more than that does. @param lost as of divideLosses */
export function lossDivisions(read: readonly ReadEpisode[], lost: number): LossDivision[] {
  const roles = divideLosses(read, lost, 'role').parts.length;
  return LOSS_DIVISIONS.flatMap((by): LossDivision[] => {
    const { parts } = divideLosses(read, lost, by);
    // Where every role speaks once, turns are roles.
    return parts.length > (by === 'turn' ? roles : 1) ? [{ by, parts }] : [];
  });
}
