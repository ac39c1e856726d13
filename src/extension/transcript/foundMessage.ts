/** A message that was found, in words: what it is about, how it ended, and where it is. */
import { BY_HAND } from '../../domain/episode.ts';
import type { Message } from '../../domain/message.ts';
import { oneLine } from '../../shared/text/oneLine.ts';

/** Characters of a question beside its message. */
const QUESTION = 120;

/** @param run the title of its run */
export function foundWords(
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
  return [outcome, oneLine(question, QUESTION), `${run}, ${phase} ${iteration}`].join(' · ');
}
