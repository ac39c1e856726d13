/** Checks of findings as JUnit's XML. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CheckedFinding } from '../../../../src/domain/answer.ts';
import { formatJunit } from '../../../../src/engine/findings/junit.ts';

const checked = (changes: Partial<CheckedFinding>): CheckedFinding => ({
  file: 'findings/a.finding.yaml',
  title: 'The plan',
  verdict: 'held',
  expect: 'held',
  passed: true,
  difference: null,
  then: null,
  now: null,
  differs: [],
  evaluatorCalls: 0,
  sentence: 'Held.',
  error: null,
  ...changes,
});

describe('the JUnit file of checks', () => {
  it('counts failures, errors and what is undecided apart, and escapes what models said', () => {
    const text = formatJunit(
      [
        checked({}),
        checked({
          verdict: 'worse',
          passed: false,
          title: 'a "<b>" & \u0000\u001b\ud800 c\n',
          sentence: 'Worse <10 %',
        }),
        checked({ verdict: 'undecided', passed: null, sentence: 'Undecided.' }),
        checked({ verdict: 'undecided', passed: null, sentence: 'Not checked: gone', error: 'gone' }),
      ],
      1.5,
    );
    assert.match(text, /<testsuites tests="4" failures="1" errors="1" skipped="1" time="1\.500">/u);
    assert.match(
      text,
      /name="a &quot;&lt;b&gt;&quot; &amp; \ufffd\ufffd\ufffd c&#10;"><failure type="worse" message="Worse &lt;10 %"\/>/u,
    );
    assert.match(text, /<skipped message="Undecided\."\/>/u);
    assert.match(text, /<error message="Not checked: gone"\/>/u);
  });
});
