/** Keeps the last trial of a workspace for its panel, so that it survives a reload. */

import {
  isTeamChange,
  isTrial,
  type TeamChange,
  type Trial,
  type TrialEpisode,
  type TrialProblems,
} from '../../domain/trial.ts';
import { isRecord } from '../../shared/guard.ts';
import type { ListKeeper } from '../common/listKeeper.ts';

export interface KeptTrial {
  /** Number of the trial in the workspace, which is part of the address of its documents. */
  readonly number: number;
  /** The title of the run. */
  readonly title: string;
  readonly change: TeamChange;
  /** Maximum number of evaluator calls. */
  readonly budget: number;
  /** The problems of the trial; absent for all, as in trials of earlier versions. */
  readonly problems?: TrialProblems;
  readonly trial: Trial;
  /** The team file of a run that was recorded elsewhere. */
  readonly team?: string;
  /** The configuration into which the change was written, or null. */
  readonly kept: string | null;
}

const KEY = 'c3.trial';
/** Maximum length of a stored trial, in UTF-16 units. A longer one is lost with its window. */
const LONGEST = 400_000;

const isKeptTrial = (value: unknown): value is KeptTrial =>
  isRecord(value) &&
  typeof value['number'] === 'number' &&
  typeof value['title'] === 'string' &&
  isTeamChange(value['change']) &&
  typeof value['budget'] === 'number' &&
  (value['problems'] === undefined || value['problems'] === 'all' || value['problems'] === 'lost') &&
  isTrial(value['trial']) &&
  (value['team'] === undefined || typeof value['team'] === 'string') &&
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

/** The names of the two documents of a pair. */
export const SIDES = ['without', 'with'] as const;

/** Returns the path of the document for one side of a pair. */
export const formatCasePath = ({ number }: KeptTrial, index: number, side: (typeof SIDES)[number]): string =>
  `${number}/${index}/${side} the change`;

/**
 * Formats one side of a pair for the diff editor: the question, each message below its role, and the
 * return.
 * @param path a path of `formatCasePath`
 */
export function formatCaseText(last: KeptTrial | null, path: string): string {
  const [, number = '', index = '', side = ''] = /^(\d+)\/(\d+)\/(\w+) /u.exec(path) ?? [];
  const found = last?.number === Number(number) ? last.trial.cases[Number(index)] : undefined;
  if (index === '' || found === undefined) {
    return 'This trial is not kept any more: try the change again.';
  }
  return formatTrialEpisode(found.question, side === 'with' ? found.after : found.before);
}

function formatTrialEpisode(question: string, { messages, return: value }: TrialEpisode): string {
  return [
    '──── question',
    question,
    ...messages.flatMap(({ role, text }) => [`──── ${role}`, text]),
    '──── return',
    String(value),
    '',
  ].join('\n');
}
