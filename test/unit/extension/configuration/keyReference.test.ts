/** The page of the guide that lists the keys of a configuration, and the keys that it is made from. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KEY_REFERENCE, keyReference } from '../../../support/keyReference.ts';

test('the reference of the guide says what the keys of a configuration say', () =>
  assert.equal(readFileSync(KEY_REFERENCE, 'utf8'), keyReference(), 'run: npm run reference'));
