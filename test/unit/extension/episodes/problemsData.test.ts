import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../../../src/domain/problem.ts';
import { formatProblemsData } from '../../../../src/extension/episodes/episodesSession.ts';
import { readRow } from '../../../../src/tasks/files/formats.ts';
import { INSTANCE, OTHER_INSTANCE } from '../../store/helpers.ts';

test('problems become data that is read again as they were; those that tests score are counted', () => {
  const code = { ...INSTANCE, tests: { tests: ['assert f()'], test: '', entryPoint: null, setup: '', prefix: '' } };
  const { text, left } = formatProblemsData([INSTANCE, code, OTHER_INSTANCE] satisfies Problem[]);
  assert.equal(left, 1);
  const rows = text.trimEnd().split('\n');
  const read = rows.map((line, index) =>
    readRow({ place: `line ${index}`, columns: JSON.parse(line) as Record<string, unknown> } as never, 'jsonl', 'none'),
  );
  assert.deepEqual(
    read.map(({ uid, question, answer, level }) => [uid, question, answer, level]),
    [INSTANCE, OTHER_INSTANCE].map(({ uid, question, answer, level }) => [uid, question, answer, level]),
  );
});
