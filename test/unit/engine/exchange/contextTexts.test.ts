import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ChatMessage } from '../../../../src/chat/messages.ts';
import { ContextNames, ContextTexts } from '../../../../src/engine/exchange/contextTexts.ts';
import { contextText } from '../../../../src/logs/contextForm.ts';
import { textHash } from '../../../../src/store/tokens.ts';
import { hashContext } from '../../../../src/team/contextKey.ts';

const said = (text: string): ChatMessage => ({ role: 'user', name: null, text });

it('contexts of one list are named as their whole texts are, and say only what is new', () => {
  const list = [said('one'), said('two \ud800 \u{1f600}'), said(''), said('four')];
  const [texts, names] = [new ContextTexts(), new ContextNames()];
  let whole = '';
  for (const [length, isNew] of [
    [0, true],
    [0, false],
    [1, false],
    [3, false],
    [4, false],
    [2, true],
  ] as const) {
    const { key, context } = names.of(list, texts.of({ list, length }));
    const expected = contextText(list.slice(0, length));
    assert.equal(key, hashContext(expected).key);
    if (typeof context === 'string') {
      assert.equal(isNew, true);
      whole = context;
    } else {
      assert.deepEqual([isNew, context.base, context.baseLength], [false, hashContext(whole).key, whole.length]);
      whole += context.since;
      assert.equal(context.sha256, textHash(expected));
    }
    assert.equal(whole, expected);
  }
  assert.equal(texts.shortened, 0);
});

it('contexts that are too long say their ends, each a little more than the one before', () => {
  const list = Array.from({ length: 400 }, (_, index) => said(`${index} ${'x'.repeat(10_000)}`));
  const [texts, names] = [new ContextTexts(), new ContextNames()];
  let [whole, written] = ['', 0];
  for (let length = 0; length <= list.length; length++) {
    const { key, context } = names.of(list, texts.of({ list, length }));
    whole = typeof context === 'string' ? context : whole + context.since;
    written += typeof context === 'string' ? context.length : context.since.length;
    assert.ok(length % 50 !== 0 || key === hashContext(whole).key);
    assert.ok(whole.length <= 1_000_000 && (length === 0 || whole.endsWith(list[length - 1]?.text ?? '')));
  }
  assert.match(whole, /^### left out\n\d+ earlier messages\n\n### user\n/);
  assert.equal(texts.shortened, 301);
  // What is written anew is as much as was said, and not its square.
  assert.ok(written < 10_000_000, String(written));
});
