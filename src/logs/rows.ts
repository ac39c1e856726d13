/** What rows of data sets and of tables ask, and what they answer. */
import { answerIn, type Answer } from '../chat/answers.ts';
import { structured, type Fields } from '../chat/fields.ts';
import { parsedMessages } from '../chat/messages.ts';
import { pythonValue } from '../chat/pythonLiteral.ts';
import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import { ASKED } from './keys.ts';

/** The question of a row: its instruction and its input. Undefined if there is neither. */
export function askedIn(row: Fields): string | undefined {
  const texts = ASKED.flatMap((key) => (typeof row[key] === 'string' ? [row[key]] : []));
  const [instruction, input] = [row['instruction'], row['input']];
  // A prompt may be made of the others; what an instruction is about may be a word of it.
  const isIn = (text: string, other: string): boolean =>
    text.length < other.length &&
    !(text === input && other === instruction) &&
    !(text === instruction && other === input) &&
    contains(other, text);
  const distinct = [...new Set(texts)].filter((text) => text !== '' && !texts.some((other) => isIn(text, other)));
  return texts.length === 0 ? undefined : distinct.join('\n\n');
}

/** The first of some values that says anything; null for none. */
export function firstAnswer(values: readonly unknown[]): Answer | null {
  for (const value of values) {
    const answer = answersIn(value);
    if (answer.said.length > 0) {
      return answer;
    }
  }
  return null;
}

/** A completion, one or several; a text is the answer itself where it holds none. */
export function answersIn(given: unknown): Answer {
  const held = typeof given === 'string' ? heldIn(given) : given;
  const list: readonly unknown[] = Array.isArray(held) && !isMessages(held) ? held : [held];
  const [first, ...others] = list;
  const { said, further } = answerIn(first);
  return said.length === 0 && held !== given ? answerIn(given) : { said, further: further + others.length };
}

/** What a text holds: completions in JSON, or messages or a body as Python writes them; all else of it is an answer. */
function heldIn(text: string): unknown {
  const json = structured(text);
  if (json !== text) {
    return isNumbers(json) ? text : json;
  }
  const python = pythonValue(text);
  const isHeld = isMessages(python) || isMessages([python]) || (isRecord(python) && isAnswer(python));
  return isHeld ? python : text;
}

const isMessages = (value: unknown): boolean => parsedMessages(value).length > 0;

/** Whether an object is the answer of a server. */
export const isAnswer = ({ choices, candidates, object, output }: Fields): boolean =>
  Array.isArray(choices) || Array.isArray(candidates) || (object === 'response' && Array.isArray(output));

/** Whether a value is a number or says only whether something is so; of a list its first item. */
export function isNumbers(given: unknown): boolean {
  const first: unknown = Array.isArray(given) ? given[0] : given;
  return typeof first === 'number' || typeof first === 'boolean';
}
