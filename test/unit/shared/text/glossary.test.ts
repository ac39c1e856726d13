/** The words of the interface, and the docstrings that they are made from. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GLOSSARY } from '../../../../src/shared/text/glossary.ts';
import { readGlossary } from '../../../support/glossary.ts';

test('the glossary says what the docstrings of the domain say', () => {
  const words = readGlossary();
  assert.deepEqual(Object.keys(GLOSSARY), Object.keys(words));
  assert.deepEqual(GLOSSARY, words, 'run: npm run glossary');
});
