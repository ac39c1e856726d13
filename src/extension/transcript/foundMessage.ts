/** Formats a found message: its return, its question and its place. */

import { BY_HAND } from '../../domain/episode.ts';
import type { Message } from '../../domain/message.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';

/** Maximum length of a question beside its message, in characters. */
const QUESTION = 120;

/** @param run the title of the message's run */
export function describeFoundMessage(
  {
    phase,
    iteration,
    return: value,
    leaves,
    byHand,
  }: Pick<Message, 'phase' | 'iteration' | 'return' | 'leaves' | 'byHand'>,
  question: string,
  run: string,
): string {
  const mean = leaves > 1 ? 'mean return' : 'return';
  const outcome =
    value === null
      ? 'return not measured'
      : `${mean} ${Math.round(1000 * value) / 1000}${byHand === true ? `, ${BY_HAND}` : ''}`;
  return [outcome, toOneLine(question, QUESTION), `${run}, ${phase} ${iteration}`].join(' · ');
}
