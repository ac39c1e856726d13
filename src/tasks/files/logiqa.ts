/** LogiQA's files: multiple-choice questions in plain text, eight lines each. */

import { C3Error } from '../../shared/errors.ts';
import { readLines, type Line } from './lines.ts';
import type { Row } from './rows.ts';

/** Lines of a record: the letter of the right option, the context, the question, and four options. */
const LINES = 7;
const LETTERS = ['A', 'B', 'C', 'D'] as const;
/** The beginning of an option that names its own letter. */
const OWN_LETTER = /^([A-D])\s?[.．、:)]\s*/u;

/**
 * Reads a file of LogiQA as a stream. Each record is seven lines after a blank one: a letter from a to
 * d, the context, the question, and the options. Further blank lines between records are skipped.
 * @returns rows with the columns `question` (context, question and options, a letter before each) and
 *   `answer`
 * @throws C3Error('input') with the file and line
 */
export async function* readLogiqaRows(path: string): AsyncGenerator<Row, void, undefined> {
  let record: Line[] = [];
  for await (const lines of readLines(path)) {
    for (const { number, text } of lines) {
      const line = { number, text: text.trim() };
      if (line.text !== '') {
        record.push(line);
      }
      // A longer record is refused here, so that no file without blank lines is held as a whole.
      if (record.length > LINES || (line.text === '' && record.length > 0)) {
        yield rowOf(record, path);
        record = [];
      }
    }
  }
  if (record.length > 0) {
    yield rowOf(record, path);
  }
}

function rowOf(record: readonly Line[], path: string): Row {
  const number = record[0]?.number ?? 1;
  const place = `${path}:${number}`;
  if (record.length !== LINES) {
    throw new C3Error(
      'input',
      `${place}: the record has ${record.length > LINES ? 'more' : 'fewer'} than ${LINES} lines; LogiQA has a blank line, then the letter of the right option, the context, the question and four options.`,
    );
  }
  const [letter = '', context = '', asked = '', ...options] = record.map(({ text }) => text);
  const answer = LETTERS.find((one) => one === letter.toUpperCase());
  if (answer === undefined) {
    throw new C3Error(
      'input',
      `${place}: the record begins with ${JSON.stringify(letter.slice(0, 40))}; LogiQA has the letter of the right option there, from a to d.`,
    );
  }
  const lettered = options.every((option, at) => OWN_LETTER.exec(option)?.[1] === LETTERS[at]);
  const shown = options.map(
    (option, at) => `${LETTERS[at] ?? ''} ${lettered ? option.replace(OWN_LETTER, '') : option}`,
  );
  return { number, place, columns: { question: [context, asked, ...shown].join('\n'), answer } };
}
