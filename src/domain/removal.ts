/**
 * What a step that credits by removal (CCPO) learned from a thinker and a solver, as its rows say it: every episode
 * beside the solo rollout of its number.
 */
import { spreadOf, type AgentContribution, type Spread } from './stepRows.ts';

/** An episode, the solo return of its number, and what its messages were credited with. */
export interface RemovalRollout {
  /** Of the question. */
  readonly instance: string;
  readonly joint: number;
  readonly solo: number;
  /** What a shared return would have credited: scaled among the rollouts of the question. */
  readonly shared: number;
  readonly messages: readonly { readonly role: string; readonly credit: number }[];
  /** Sampled for it, and for the solo rollout of its number. */
  readonly tokens: number;
  readonly soloTokens: number;
}

/** Of the messages of one role in one outcome. */
export interface OutcomeCredits {
  /** Whether the episode was right, and the solo rollout of its number. */
  readonly joint: 0 | 1;
  readonly solo: 0 | 1;
  readonly role: string;
  /** As training recorded them. */
  readonly credits: Spread | null;
  /** The return less its mean over the rollouts of the question, over their sample deviation. */
  readonly shared: Spread | null;
}

/** What some rollouts show together. */
export interface RemovalOutcomes {
  readonly outcomes: readonly OutcomeCredits[];
  /** Rollouts behind them, and those of other returns than 0 and 1, which are in none. */
  readonly rollouts: number;
  readonly others: number;
  /** Mean return of all of them with the thinker, and of their solo rollouts. */
  readonly team: number;
  readonly without: number;
}

/** What is read of a store. */
export interface RemovalRows {
  readonly episodes: (query: {
    readonly run: string;
    readonly phase: 'train';
    readonly iteration: number;
    readonly offset: number;
    readonly limit: number;
  }) => readonly { readonly instance: string; readonly return: number | null; readonly leaf: number }[];
  readonly chain: (
    leaf: number,
  ) => readonly {
    readonly role: string;
    readonly text: string;
    readonly finish: string;
    readonly tokenCount: number;
    readonly trainingCredit: { readonly value: number } | null;
  }[];
}

/** Of group normalisation (CCPO reference section 4). */
const EPSILON = 1e-6;
const PAGE = 5000;
const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Tokens that a model sampled; none of an empty message in the place of one. */
const sampledIn = (chain: ReturnType<RemovalRows['chain']>): number =>
  chain.reduce((sum, { finish, tokenCount }) => sum + (finish === 'typed' ? 0 : tokenCount), 0);

/** The pairs of a step, as its credit paired them; none where a question has no solo rollout. */
export function removalRollouts(rows: RemovalRows, run: string, iteration: number): RemovalRollout[] {
  const episodes: ReturnType<RemovalRows['episodes']>[number][] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = rows.episodes({ run, phase: 'train', iteration, offset, limit: PAGE });
    episodes.push(...page);
    if (page.length < PAGE) {
      break;
    }
  }
  return [...Map.groupBy(episodes, ({ instance }) => instance)].flatMap(([instance, own]) => {
    const read = own.map((episode) => ({ value: episode.return, chain: rows.chain(episode.leaf) }));
    const isSolo = ({ chain: [first] }: (typeof read)[number]): boolean =>
      first?.finish === 'typed' && first.text === '';
    const [solos, joints] = [read.filter(isSolo), read.filter((one) => !isSolo(one))];
    const measured = solos.flatMap(({ value }) => value ?? []);
    const returns = joints.flatMap(({ value }) => value ?? []);
    const centre = returns.length === 0 ? 0 : meanOf(returns);
    const deviation = Math.sqrt(
      returns.reduce((sum, value) => sum + (value - centre) ** 2, 0) / Math.max(1, returns.length - 1),
    );
    return joints.flatMap(({ value, chain }, number): RemovalRollout[] =>
      value === null || measured.length === 0
        ? []
        : [
            {
              instance,
              joint: value,
              solo: solos[number]?.value ?? meanOf(measured),
              // A group of one keeps its return.
              shared: returns.length < 2 ? value : (value - centre) / (deviation + EPSILON),
              tokens: sampledIn(chain),
              soloTokens: sampledIn(solos[number]?.chain ?? []),
              messages: chain.flatMap(({ role, trainingCredit }) =>
                trainingCredit === null ? [] : [{ role, credit: trainingCredit.value }],
              ),
            },
          ],
    );
  });
}

const CELLS = [1, 0].flatMap((joint) =>
  [1, 0].map((solo) => ({ joint, solo }) as Pick<OutcomeCredits, 'joint' | 'solo'>),
);
const isOutcome = (value: number): boolean => value === 0 || value === 1;

/** Credits by outcome, of the roles in the order in which they spoke; null without rollouts. */
export function removalOutcomes(all: readonly RemovalRollout[]): RemovalOutcomes | null {
  if (all.length === 0) {
    return null;
  }
  const clear = all.filter(({ joint, solo }) => isOutcome(joint) && isOutcome(solo));
  const roles = [...new Set(clear.flatMap(({ messages }) => messages.map(({ role }) => role)))];
  const outcomes = roles.flatMap((role) =>
    CELLS.map(({ joint, solo }): OutcomeCredits => {
      const own = clear.filter((one) => one.joint === joint && one.solo === solo);
      const credits = own.flatMap(({ messages }) => messages.filter((one) => one.role === role));
      return {
        joint,
        solo,
        role,
        credits: spreadOf(credits.map(({ credit }) => credit)),
        shared: spreadOf(own.map(({ shared }) => shared)),
      };
    }),
  );
  return {
    outcomes,
    rollouts: clear.length,
    others: all.length - clear.length,
    team: meanOf(all.map(({ joint }) => joint)),
    without: meanOf(all.map(({ solo }) => solo)),
  };
}

const recordOf = (json: unknown): Readonly<Record<string, unknown>> | null =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.fromEntries(Object.entries(json)) : null;

/**
 * The running means in a state of method ccpo: of each voter, else of the thinker.
 * @param json as it is stored; null of another method
 */
export function contributionsIn(json: unknown): readonly AgentContribution[] {
  const state = recordOf(json);
  const voters = recordOf(state?.['voters']);
  const rows = voters === null ? [['thinker', state?.['contribution']] as const] : Object.entries(voters);
  return rows.flatMap(([role, running]) => {
    const { mean, variance } = recordOf(running) ?? {};
    return typeof mean === 'number' && typeof variance === 'number'
      ? [{ role, mean, deviation: Math.sqrt(variance) }]
      : [];
  });
}

/** Under which name the store has such states. */
export const REMOVAL_STATE = 'ccpo-statistics';

/** Rollouts that are looked at together, of steps spread evenly over a run. */
export const MOST_ROLLOUTS = 12_000;
