/** The page of the guide about the command line, and the declarations that its reference is made from. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { COMMAND_PAGE, withReference } from '../../support/commandReference.ts';

test('the guide says of each command what it declares', () => {
  const page = readFileSync(COMMAND_PAGE, 'utf8');
  assert.equal(page, withReference(page), 'run: npm run reference');
});
