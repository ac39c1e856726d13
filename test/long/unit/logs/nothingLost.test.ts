/** The same for 100,000 texts together. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FORMS } from '../../../unit/logs/forms.ts';
import { plant } from '../../../unit/logs/planting.ts';

it('100,000 planted texts are in the transcripts of all forms', () => {
  const count = Object.entries(FORMS).reduce((sum, [name, form]) => sum + plant(name, form, 300), 0);
  assert.ok(count >= 100_000, `${count} texts`);
});
