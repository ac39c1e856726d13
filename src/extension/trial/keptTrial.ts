/** The last trial of a window, with what was tried: kept for its panel, over a reload too. */
import { isTeamChange, isTrial, type TeamChange, type Trial, type TrialEpisode } from '../../domain/trial.ts';
import { isRecord } from '../../shared/guard.ts';
import type { ListKeeper } from '../common/listKeeper.ts';

export interface KeptTrial {
  /** Counted by the workspace: a document is of one trial. */
  readonly number: number;
  /** The title of the run. */
  readonly title: string;
  readonly change: TeamChange;
  /** Evaluator calls that were allowed. */
  readonly budget: number;
  readonly trial: Trial;
  /** The configuration that the change was written into; null where it was not. */
  readonly kept: string | null;
}

const KEY = 'c3.trial';
/** The editor's workspace state is no place for more, in UTF-16 units: a longer trial is gone with its window. */
const LONGEST = 400_000;

const isKeptTrial = (value: unknown): value is KeptTrial =>
  isRecord(value) &&
  typeof value['number'] === 'number' &&
  typeof value['title'] === 'string' &&
  isTeamChange(value['change']) &&
  typeof value['budget'] === 'number' &&
  isTrial(value['trial']) &&
  (value['kept'] === null || typeof value['kept'] === 'string');

export class LastTrial {
  private readonly keeper: ListKeeper;
  private last: KeptTrial | null;

  constructor(keeper: ListKeeper) {
    this.keeper = keeper;
    const kept = keeper.get(KEY);
    this.last = isKeptTrial(kept) ? kept : null;
  }

  get value(): KeptTrial | null {
    return this.last;
  }

  async set(trial: KeptTrial): Promise<void> {
    this.last = trial;
    await this.keeper.update(KEY, JSON.stringify(trial).length > LONGEST ? undefined : trial);
  }
}

/** The sides of a pair, by the names of their documents. */
export const SIDES = ['without', 'with'] as const;

/** The address of what one side of a pair said. */
export const casePath = ({ number }: KeptTrial, index: number, side: (typeof SIDES)[number]): string =>
  `${number}/${index}/${side} the change`;

/**
 * What one side of a pair said, for the diff editor: the question, then every message below its role, then the return.
 * @param path see casePath
 */
export function caseText(last: KeptTrial | null, path: string): string {
  const [, number = '', index = '', side = ''] = /^(\d+)\/(\d+)\/(\w+) /u.exec(path) ?? [];
  const found = last?.number === Number(number) ? last.trial.cases[Number(index)] : undefined;
  if (index === '' || found === undefined) {
    return 'This trial is not kept any more: try the change again.';
  }
  return episodeText(found.question, side === 'with' ? found.after : found.before);
}

function episodeText(question: string, { messages, return: value }: TrialEpisode): string {
  return [
    '──── question',
    question,
    ...messages.flatMap(({ role, text }) => [`──── ${role}`, text]),
    '──── return',
    String(value),
    '',
  ].join('\n');
}
