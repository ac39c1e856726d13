/** What the editor shows for a file that it was given as a report. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writePage } from '../../../src/report/page.ts';
import { shownInEditor } from '../../../src/report/report.ts';

test('our own pages are shown in the colours of the editor; a file that is gone or of others is reported in one sentence, and none of it gets in', () => {
  const own = writePage('Run 1', '<p>content</p>');
  const shown = shownInEditor('run.html', own);
  assert.ok(shown.includes('<p>content</p>') && shown.includes('--vscode-editor-background'));
  assert.match(shownInEditor('run.html', null), /<p>The report run\.html cannot be read any more: [^<]+<\/p>/u);
  for (const foreign of [
    '',
    '<img src="https://example.org/x.png">',
    own.replace("default-src 'none'", 'default-src *'),
    `<script>alert(1)</script>${own}`,
  ]) {
    const told = shownInEditor('<b>.html', foreign);
    assert.match(told, /<p>The file &lt;b&gt;\.html is not a report that this version of C3 wrote: [^<]+<\/p>/u);
    assert.ok(!/example\.org|<script|content<\/p>/u.test(told));
    assert.ok(told.includes("default-src 'none'"));
  }
});
