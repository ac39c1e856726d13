import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutIcons, withoutLinks } from '../../../../src/extension/common/plainText.ts';

/**
 * What the editor takes for a link in a notification, and for a picture in a list (its own expressions,
 * src/vs/base/common).
 */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/giu;
const ICON = /\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/gu;

test('nothing in a notification is a link, and the words stay', () => {
  for (const hostile of [
    '[x](command:c3.startRun)',
    '[a][b](file:///etc/passwd) [c](https://x.invalid "t")',
    ']([](command:a)](',
  ]) {
    assert.match('[x](command:c3.startRun)', LINK);
    LINK.lastIndex = 0;
    assert.equal(withoutLinks(hostile).match(LINK), null, hostile);
    assert.equal(withoutLinks(hostile).replaceAll(' ', ''), hostile.replaceAll(' ', ''));
  }
  assert.equal(withoutLinks('step [3] (of 4)'), 'step [3] (of 4)');
});

test('nothing in a list is a picture, and the words stay', () => {
  for (const hostile of ['$(trash) and $(loading~spin)', '\\$(trash)', '$$(x)$(y)']) {
    assert.equal(withoutIcons(hostile).match(ICON), null, hostile);
    assert.equal(withoutIcons(hostile).replaceAll('\u200B', ''), hostile);
  }
  assert.equal(withoutIcons('$5 (each)'), '$5 (each)');
});
