/**
 * What a run that credits by removal (CCPO) learned from, read from the store: credits by the outcome of an episode
 * with and without the thinker, beside what a shared return would have credited; and what each agent contributed so
 * far.
 */
import { mean, sampleVariance } from '../credit/describe.ts';
import { isRecord } from '../shared/guard.ts';
import type { Episode, Message } from '../shared/records/records.ts';
import { spreadOf, type Spread } from '../shared/records/stepRows.ts';
import type { StoreReader } from '../store/types.ts';

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

/** The running mean of what an agent contributed. */
export interface ContributionCurve {
  readonly role: string;
  readonly points: readonly { readonly step: number; readonly mean: number; readonly deviation: number }[];
}

export interface RemovalReport {
  /** Empty for a team that votes: it has no solo rollouts. */
  readonly outcomes: readonly OutcomeCredits[];
  /** Rollouts behind them, and those of other returns than 0 and 1, which are in none. */
  readonly rollouts: number;
  readonly others: number;
  readonly contributions: readonly ContributionCurve[];
}

/** The states of the method, by name. */
const STATISTICS = 'ccpo-statistics';
/** Of group normalisation (CCPO reference section 4). */
const EPSILON = 1e-6;
const PAGE = 5000;
/** Rollouts that are read, of steps spread evenly over the run. */
const MOST_ROLLOUTS = 12_000;

/** Reads it; null for a run that credits otherwise. */
export function removalReport(store: StoreReader, run: string): RemovalReport | null {
  const steps = store.countSteps(run);
  const contributions = contributionsOf(store, run, steps);
  if (contributions.length === 0) {
    return null;
  }
  const found: Rollout[] = [];
  const total = steps * store.countEpisodes({ run, phase: 'train', iteration: 1 });
  const stride = Math.max(1, Math.ceil(total / MOST_ROLLOUTS));
  for (let iteration = 1; iteration <= steps; iteration += stride) {
    found.push(...rolloutsOf(store, run, iteration));
  }
  const clear = found.filter(({ joint, solo }) => isOutcome(joint) && isOutcome(solo));
  return { outcomes: outcomesOf(clear), rollouts: clear.length, others: found.length - clear.length, contributions };
}

const isOutcome = (value: number): value is 0 | 1 => value === 0 || value === 1;

/** An episode, the solo return of its number, and what its messages were credited with. */
interface Rollout {
  readonly joint: number;
  readonly solo: number;
  readonly shared: number;
  readonly messages: readonly { readonly role: string; readonly credit: number }[];
}

/** The pairs of a step, as its credit paired them; none where a question has no solo rollout. */
function rolloutsOf(store: StoreReader, run: string, iteration: number): Rollout[] {
  const episodes: Episode[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = store.episodes({ run, phase: 'train', iteration, offset, limit: PAGE });
    episodes.push(...page);
    if (page.length < PAGE) {
      break;
    }
  }
  return [...Map.groupBy(episodes, ({ instance }) => instance).values()].flatMap((own) => {
    const read = own.map((episode) => ({ value: episode.return, chain: store.chain(episode.leaf) }));
    const isSolo = ({ chain }: { chain: readonly Message[] }): boolean =>
      chain[0]?.finish === 'typed' && chain[0].text === '';
    const [solos, joints] = [read.filter(isSolo), read.filter((one) => !isSolo(one))];
    const measured = solos.flatMap(({ value }) => value ?? []);
    const returns = joints.flatMap(({ value }) => value ?? []);
    const [centre, variance] = [returns.length === 0 ? 0 : mean(returns), sampleVariance(returns)];
    return joints.flatMap(({ value, chain }, number): Rollout[] =>
      value === null || measured.length === 0
        ? []
        : [
            {
              joint: value,
              solo: solos[number]?.value ?? mean(measured),
              shared: variance === null ? value : (value - centre) / (Math.sqrt(variance) + EPSILON),
              messages: chain.flatMap(({ eventType: role, trainingCredit }) =>
                trainingCredit === null ? [] : [{ role, credit: trainingCredit.value }],
              ),
            },
          ],
    );
  });
}

function outcomesOf(rollouts: readonly Rollout[]): OutcomeCredits[] {
  const roles = [...new Set(rollouts.flatMap(({ messages }) => messages.map(({ role }) => role)))];
  const cells = [1, 0].flatMap((joint) =>
    [1, 0].map((solo) => ({ joint, solo }) as Pick<OutcomeCredits, 'joint' | 'solo'>),
  );
  return roles.flatMap((role) =>
    cells.map(({ joint, solo }) => {
      const own = rollouts.filter((one) => one.joint === joint && one.solo === solo);
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
}

/** From the state that each step left; of voters one curve each, else that of the thinker. */
function contributionsOf(store: StoreReader, run: string, steps: number): ContributionCurve[] {
  const curves = new Map<string, { step: number; mean: number; deviation: number }[]>();
  for (let step = 1; step <= steps; step++) {
    const state = store.methodState(run, step);
    if (state?.name !== STATISTICS || !isRecord(state.json)) {
      continue;
    }
    const { contribution, voters } = state.json;
    for (const [role, running] of isRecord(voters) ? Object.entries(voters) : [['thinker', contribution] as const]) {
      if (isRecord(running) && typeof running['mean'] === 'number' && typeof running['variance'] === 'number') {
        const points = curves.get(role) ?? [];
        points.push({ step, mean: running['mean'], deviation: Math.sqrt(running['variance']) });
        curves.set(role, points);
      }
    }
  }
  return [...curves].map(([role, points]) => ({ role, points }));
}
