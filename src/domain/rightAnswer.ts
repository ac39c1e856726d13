/** What a person says is right, as an answer with the evaluator that compares it. */

export interface RightAnswer {
  readonly answer: string;
  readonly evaluator: 'auto' | 'pattern';
}

const NUMBER = /^[+\-\u2212]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\/\d+|\s*%)?$/u;

/** A number must be what a message states; any other text must be somewhere in it. */
export function rightAnswer(said: string): RightAnswer {
  const text = said.trim();
  return NUMBER.test(text)
    ? { answer: text, evaluator: 'auto' }
    : { answer: text.replaceAll(/[\\^$.*+?()[\]{}|]/gu, '\\$&'), evaluator: 'pattern' };
}

/** The evaluator of an answer that `rightAnswer` gave. */
export const evaluatorOfAnswer = (answer: string): RightAnswer['evaluator'] =>
  NUMBER.test(answer) ? 'auto' : 'pattern';
