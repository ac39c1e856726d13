import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isColumnShown, NO_CHOICE, chooseColumn } from '../../../../src/shared/protocols/columnChoice.ts';

test('a column is shown as is usual until its user says otherwise, and again as usual when that is taken back', () => {
  assert.deepEqual(
    [true, false].map((usual) => isColumnShown(NO_CHOICE, 'a', usual)),
    [true, false],
  );
  const hidden = chooseColumn(NO_CHOICE, 'a', false, true);
  assert.equal(isColumnShown(hidden, 'a', true), false);
  const shown = chooseColumn(hidden, 'b', true, false);
  assert.equal(isColumnShown(shown, 'b', false), true);
  assert.deepEqual(chooseColumn(chooseColumn(shown, 'a', true, true), 'b', false, false), NO_CHOICE);
});

test('a column that was hidden stays so while another run fills it, and one that was shown while none does', () => {
  const choice = { shown: ['empty'], hidden: ['full'] };
  assert.equal(isColumnShown(choice, 'empty', false), true);
  assert.equal(isColumnShown(choice, 'full', true), false);
});
