/** Files of planning problems in PDDL, one after another. */

import { C3Error } from '../../shared/errors.ts';
import { readLines } from './lines.ts';
import type { Row } from './rows.ts';

/** Most characters of one problem. */
const MOST_LENGTH = 100_000;

/**
 * Reads a file of PDDL as a stream. Each expression in parentheses is a row with its text in the
 * column `problem`; comments are left out.
 * @throws C3Error('input') with the file and line
 */
export async function* readPddlRows(path: string): AsyncGenerator<Row, void, undefined> {
  let [depth, start, text] = [0, 0, ''];
  let place = path;
  for await (const lines of readLines(path)) {
    for (const { number, text: line } of lines) {
      for (const [token] of line.replace(/;.*$/u, '').matchAll(/[()]|[^()]+/gu)) {
        if (depth === 0 && token.trim() === '') {
          continue;
        }
        if (depth === 0) {
          [start, place] = [number, `${path}:${number}`];
        }
        depth += token === '(' ? 1 : token === ')' ? -1 : 0;
        text += token;
        if ((depth <= 0 && token !== ')') || depth < 0 || text.length > MOST_LENGTH) {
          const wrong =
            text.length > MOST_LENGTH
              ? `a problem has more than ${MOST_LENGTH} characters`
              : 'there is something outside parentheses';
          throw new C3Error('input', `${place}: ${wrong}; write problems as (define (problem NAME) ...).`);
        }
        if (depth === 0) {
          yield { number: start, place, columns: { problem: text } };
          text = '';
        }
      }
      text += depth > 0 ? '\n' : '';
    }
  }
  if (depth > 0) {
    throw new C3Error('input', `${place}: the problem that begins here is not closed; add the missing parentheses.`);
  }
}
