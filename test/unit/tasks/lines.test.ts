import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LineSplitter } from '../../../src/tasks/files/lines.ts';
import { errorOfKind } from '../replay/helpers.ts';

const BOUNDS = { line: 4, lines: 3, bytes: 12, marks: 'first', advice: 'cut it' } as const;
const placeOf = (line: number): string => `file:${line}`;

/** The texts of the lines, by number. */
function split(...chunks: readonly (string | Buffer)[]): string[] {
  const splitter = new LineSplitter({ ...BOUNDS, placeOf });
  const lines = [...chunks.flatMap((chunk) => [...splitter.push(Buffer.from(chunk))]), ...splitter.end()];
  return lines.map(({ number, text }) => `${number} ${text}`);
}

it('joins lines across chunks, and ends the last one without a line feed', () => {
  assert.deepEqual(split('a', 'b\nc', 'd\n', '\n'), ['1 ab', '2 cd', '3 ']);
  assert.deepEqual(split('ab\r\nc'), ['1 ab\r', '2 c']);
  assert.deepEqual(split(), []);
});

it('takes exactly what each limit allows', () => {
  assert.deepEqual(split('abcd\n', '1234\n', '12'), ['1 abcd', '2 1234', '3 12']);
});

it('names the line at which a limit was passed', () => {
  assert.throws(
    () => split('a\n', '12345'),
    errorOfKind('input', /^file:2: the line is longer than 4 bytes; cut it\.$/u),
  );
  assert.throws(() => split('\n\n\n\n'), errorOfKind('input', /^file:4: the file has more than 3 lines/u));
  assert.throws(
    () => split('abcd\n123\n', '12\n3'),
    errorOfKind('input', /^file:3: the file is larger than 12 bytes/u),
  );
  assert.throws(() => split('a\n', Buffer.of(0xff, 0x0a)), errorOfKind('input', /^file:2: the line is not UTF-8/u));
});

it('removes a byte order mark from the first line only, or from every line', () => {
  const marked = Buffer.from('\ufeffa\n\ufeffb\n');
  const read = (marks: 'first' | 'every'): string[] => {
    const splitter = new LineSplitter({ ...BOUNDS, marks, placeOf });
    return [...splitter.push(marked)].map(({ text }) => text);
  };
  assert.deepEqual(
    [read('first'), read('every')],
    [
      ['a', '\ufeffb'],
      ['a', 'b'],
    ],
  );
});
