/** Scores events of a log with evaluators of messages. */

import type { SaidEvent, EnvironmentEvent, LogEvent } from '../domain/episode.ts';
import type { Problem } from '../domain/problem.ts';
import { isReturn } from '../shared/credit/returns.ts';
import { isRecord } from '../shared/guard.ts';
import type { Evaluator, Graded } from './evaluator.ts';

export interface LogEvaluator {
  readonly name: string;
  /**
   * Scores the event that ends a log. The result is the same for the same arguments.
   * @param log all events up to and including it
   * @throws as Evaluator.evaluate
   */
  evaluate(problem: Problem, log: readonly LogEvent[], event: LogEvent, signal?: AbortSignal): Promise<Graded>;
}

/**
 * Adapts an evaluator of messages to logs. A message is scored by its text; an environment event by
 * its answers, with equal weights, or by its text if it has no list of answers. An event with an empty
 * list has no answer and scores 0.
 */
export function adaptToEvents(evaluator: Evaluator): LogEvaluator {
  return {
    name: evaluator.name,
    async evaluate(problem, _, event, signal) {
      const own = readOwnReward(event);
      if (own !== null) {
        return { score: own, rule: 'program' };
      }
      const graded: Graded[] = [];
      for (const text of listScoredTexts(event)) {
        const one = await evaluator.evaluate(problem, text, signal);
        if (one.score === null) {
          return one;
        }
        graded.push(one);
      }
      const [first] = graded;
      if (first === undefined) {
        return { score: 0, rule: 'no answer was chosen' };
      }
      const sum = graded.reduce((total, { score }) => total + (score ?? 0), 0);
      return graded.length === 1
        ? first
        : { score: sum / graded.length, rule: `the mean of ${graded.length}: ${first.rule}` };
    },
  };
}

/** Returns the score that a user's program gave its own episode, or null if it gave none. */
function readOwnReward(event: LogEvent): number | null {
  const json: unknown = event.kind === 'environment' && event.closing ? event.json : null;
  const reward = isRecord(json) ? json['reward'] : null;
  return typeof reward === 'number' && isReturn(reward) ? reward : null;
}

const listScoredTexts = (event: SaidEvent | EnvironmentEvent): readonly string[] =>
  event.kind === 'environment' && event.answers !== undefined ? event.answers : [event.text];
