/** Reads questions and answers from rows of data sets and tables. */

import { readModelAnswer, type Answer } from '../chat/answers.ts';
import { parseStructured, type Fields } from '../chat/fields.ts';
import { parseMessages } from '../chat/messages.ts';
import { parsePythonLiteral } from '../chat/pythonLiteral.ts';
import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import { ASKED } from './keys.ts';

/** Returns the question of a row, from its instruction and its input, or undefined. */
export function askedIn(row: Fields): string | undefined {
  const texts = ASKED.flatMap((key) => (typeof row[key] === 'string' ? [row[key]] : []));
  const [instruction, input] = [row['instruction'], row['input']];
  // A prompt may consist of the other texts. But an instruction and its input are kept even if one
  // contains the other.
  const isIn = (text: string, other: string): boolean =>
    text.length < other.length &&
    !(text === input && other === instruction) &&
    !(text === instruction && other === input) &&
    contains(other, text);
  const distinct = [...new Set(texts)].filter((text) => text !== '' && !texts.some((other) => isIn(text, other)));
  return texts.length === 0 ? undefined : distinct.join('\n\n');
}

/** Returns the first value that holds an answer, or null. */
export function firstAnswer(values: readonly unknown[]): Answer | null {
  for (const value of values) {
    const answer = answersIn(value);
    if (answer.said.length > 0) {
      return answer;
    }
  }
  return null;
}

/** Returns one or several completions. A text that holds no completion in JSON is the answer itself. */
export function answersIn(given: unknown): Answer {
  const held = typeof given === 'string' ? openCompletions(given) : given;
  const list: readonly unknown[] = Array.isArray(held) && !isMessages(held) ? held : [held];
  const [first, ...others] = list;
  const { said, further } = readModelAnswer(first);
  return said.length === 0 && held !== given ? readModelAnswer(given) : { said, further: further + others.length };
}

/** Opens a text with completions in JSON, or with a message or body as a Python literal. */
function openCompletions(text: string): unknown {
  const json = parseStructured(text);
  if (json !== text) {
    return isNumberOrBoolean(json) ? text : json;
  }
  const python = parsePythonLiteral(text);
  const isHeld = isMessages(python) || isMessages([python]) || (isRecord(python) && isAnswer(python));
  return isHeld ? python : text;
}

const isMessages = (value: unknown): boolean => parseMessages(value).length > 0;

/** Returns true if an object is the answer of a server. */
export const isAnswer = ({ choices, candidates, object, output }: Fields): boolean =>
  Array.isArray(choices) || Array.isArray(candidates) || (object === 'response' && Array.isArray(output));

/** Returns true if a value, or the first item of a list, is a number or a boolean. */
export function isNumberOrBoolean(given: unknown): boolean {
  const first: unknown = Array.isArray(given) ? given[0] : given;
  return typeof first === 'number' || typeof first === 'boolean';
}
