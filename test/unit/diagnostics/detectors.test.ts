import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  detectFindings,
  DETECTORS,
  type DetectedEpisode,
  type DetectorName,
  type Finding,
} from '../../../src/diagnostics/detectors.ts';

function episode(
  plan: string | null,
  answer: string,
  more: Partial<DetectedEpisode> & { readonly cut?: number } = {},
): DetectedEpisode {
  const texts = plan === null ? [answer] : [plan, answer];
  return {
    question: 'How many is 300 + 45?',
    gold: '345',
    isVote: false,
    return: 1,
    rule: 'hash-line: equal numbers',
    emptied: null,
    messages: texts.map((text, index) => ({
      id: index + 1,
      role: index === texts.length - 1 ? 'actor' : 'reasoner',
      text,
      finish: more.cut === index + 1 ? 'length' : 'end',
    })),
    ...more,
  };
}
const find = (name: DetectorName, of: DetectedEpisode): Finding =>
  detectFindings(of).find((one) => one.name === name) ?? assert.fail(name);
const present = (name: DetectorName, of: DetectedEpisode): boolean | null => find(name, of).present;

describe('detectors', () => {
  it('say something of every name, in order, with a sentence', () => {
    const findings = detectFindings(episode('Add 300 and 45.', 'So #### 345'));
    assert.deepEqual(
      findings.map(({ name }) => name),
      [...DETECTORS],
    );
    assert.deepEqual(
      findings.map((one) => one.present),
      [false, false, false, null, false, false],
    );
    for (const { evidence } of findings) {
      assert.match(evidence, /^[^\n]+\.$/u);
    }
    assert.deepEqual(detectFindings(episode(null, 'x', { messages: [] })), []);
  });

  it('no final answer', () => {
    assert.deepEqual(
      [present('no final answer', episode('p', 'it is 345')), present('no final answer', episode('p', '\\boxed{345}'))],
      [true, false],
    );
    assert.equal(present('no final answer', episode('p', 'def f(): pass', { rule: 'python tests' })), null);
  });

  it('take every vote for an answer, and none for a plan', () => {
    const vote = (first: string, last: string): DetectedEpisode => episode(first, last, { isVote: true });
    assert.deepEqual(
      [vote('#### 345', 'none'), vote('none', '#### 345'), vote('none', 'none')].map((of) =>
        present('no final answer', of),
      ),
      [false, false, true],
    );
    assert.deepEqual(
      [vote('####', '#### 345'), vote('#### 345', 'none')].map((of) => present('malformed answer', of)),
      [true, false],
    );
    for (const name of ['plan ignored', 'plan leaks the answer'] as const) {
      assert.equal(present(name, vote('#### 345', '#### 345')), null);
    }
    assert.equal(present('plan leaks the answer', episode('#### 345', '#### 345')), true);
  });

  it('malformed answer', () => {
    for (const text of ['345 ####', 'so ####\nmore', '\\boxed{345', '\\boxed{}']) {
      assert.equal(present('malformed answer', episode('p', text)), true, text);
    }
    for (const text of ['345', '#### 345', '\\boxed{\\frac{1}{2}}', '\\boxed{ then #### 345']) {
      assert.equal(present('malformed answer', episode('p', text)), false, text);
    }
  });

  it('truncated, at the first message that was cut', () => {
    const found = find('truncated', episode('Add 300 and', '#### 345', { cut: 1 }));
    assert.deepEqual([found.present, found.message], [true, 1]);
    assert.match(found.evidence, /reasoner's message stops at its limit of tokens, after "Add 300 and"/);
    assert.equal(present('truncated', episode('p', 'q', { cut: 2 })), true);
  });

  it('plan ignored: the answer is the same without the plan', () => {
    const same = [
      { kept: '#### 345', emptied: 'hm #### 345' },
      { kept: '#### 1', emptied: '#### 1' },
    ];
    assert.equal(present('plan ignored', episode('p', '#### 345', { emptied: same })), true);
    const other = find(
      'plan ignored',
      episode('p', '#### 345', { emptied: [...same, { kept: '#### 345', emptied: '#### 9' }] }),
    );
    assert.equal(other.present, false);
    assert.match(other.evidence, /In replay 2 the answer "345" becomes "9"/);
    const never = find('plan ignored', episode('p', '#### 345'));
    assert.equal(never.present, null);
    assert.match(never.evidence, /c3 replay 1 --text ""/);
    assert.equal(present('plan ignored', episode(null, '#### 345', { emptied: same })), null);
  });

  it('plan leaks the answer: stated, or present as a whole', () => {
    for (const plan of ['#### 345', 'The answer is 345.', 'so it makes 345, done', 'x=345']) {
      assert.equal(present('plan leaks the answer', episode(plan, '#### 345')), true, plan);
    }
    for (const plan of ['Add 300 and 45.', '1345 or 3450', '345.5', '3,345', '#### 346']) {
      assert.equal(present('plan leaks the answer', episode(plan, '#### 345')), false, plan);
    }
    // A short answer is in a plan by chance, and one that the question holds is no secret.
    assert.equal(present('plan leaks the answer', episode('take 12 and 7', 'x', { gold: '7' })), false);
    assert.equal(present('plan leaks the answer', episode('The answer is 7.', 'x', { gold: '7' })), true);
    assert.equal(present('plan leaks the answer', episode('keep the 300', 'x', { gold: '300' })), false);
    assert.equal(present('plan leaks the answer', episode('p', 'x', { gold: ' ' })), null);
  });

  it('infrastructure failure: a masked return', () => {
    const found = find('infrastructure failure', episode('p', '#### 1', { return: null, rule: 'sandbox-died' }));
    assert.equal(found.present, true);
    assert.match(found.evidence, /sandbox-died/);
  });

  it('hostile text stays one bounded line', () => {
    const text = `\u0007\n${'<b>'.repeat(100_000)}\u202e`;
    for (const { evidence } of detectFindings(
      episode(text, text, { cut: 2, emptied: [{ kept: text, emptied: 'x' }] }),
    )) {
      assert.ok(evidence.length < 400);
      assert.doesNotMatch(evidence, /[\p{Cc}\p{Cf}]/u);
    }
  });
});
