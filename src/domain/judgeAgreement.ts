/** How far a model that scores by a rubric agrees with itself and with its user: measured before its scores count. */
import { decimal } from '../shared/text/figures.ts';
import { isRecord } from '../shared/guard.ts';
import { storedRecipe } from './storedRecipe.ts';

/** Two scores of the same messages. */
export interface ScoreAgreement {
  /** Messages with both scores. */
  readonly n: number;
  /** Share of them on the same side of 0.5 by both, with its 95 % interval (Wilson); null where n is 0. */
  readonly same: { readonly value: number; readonly low: number; readonly high: number } | null;
  /** Mean absolute difference; null where n is 0. */
  readonly distance: number | null;
}

export interface JudgeAgreement {
  /** Messages that the user labeled. */
  readonly labels: number;
  /** Of two answers to each message: those without a score that can be read. */
  readonly unread: number;
  /** A first answer beside a second one. */
  readonly self: ScoreAgreement;
  /** A first answer beside the user's label. */
  readonly user: ScoreAgreement;
}

/** Where the recipe of a run keeps it. */
export const JUDGE_KEY = 'judge';

/** One sentence, for whatever shows a credit that the judge's scores made. */
export function judgeWords({ labels, unread, self, user }: JudgeAgreement): string {
  const share = ({ same, n, distance }: ScoreAgreement): string => {
    if (same === null || distance === null) {
      return 'no message';
    }
    const [value, low, high] = [same.value, same.low, same.high].map((one) => decimal(100 * one, 0));
    return `${value} % [${low}, ${high}] of ${String(n)} messages (mean difference ${decimal(distance, 2)})`;
  };
  const missing = unread === 0 ? '' : ` ${String(unread)} of ${String(2 * labels)} answers had no score.`;
  return `Scored by a model judge: pass or fail is the same as its own second answer for ${share(self)}, and the same as your labels for ${share(user)}.${missing}`;
}

/**
 * The sentence of a run's recipe; null where no judge scored it.
 * @param runConfig the row's JSON, which an imported run has not
 */
export function judgeWordsIn(runConfig: string): string | null {
  const found = storedRecipe(runConfig)[JUDGE_KEY];
  return isAgreement(found) ? judgeWords(found) : null;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

function isScores(value: unknown): value is ScoreAgreement {
  if (!isRecord(value) || !isNumber(value['n'])) {
    return false;
  }
  const { same, distance } = value;
  const whole = isRecord(same) && ['value', 'low', 'high'].every((key) => isNumber(same[key]));
  return (same === null || whole) && (distance === null || isNumber(distance));
}

export const isAgreement = (value: unknown): value is JudgeAgreement =>
  isRecord(value) &&
  isNumber(value['labels']) &&
  isNumber(value['unread']) &&
  isScores(value['self']) &&
  isScores(value['user']);
