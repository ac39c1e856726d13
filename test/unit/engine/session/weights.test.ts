/** Weights that were not kept, and what is said where they cannot be rebuilt. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Weights } from '../../../../src/engine/session/weights.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { RUN, WEIGHTS, filledStore } from '../../store/helpers.ts';

const TRAINED = 'cd'.repeat(32);

it('weights that could not be rebuilt once are rebuilt anew when they are asked for again', async (t) => {
  const store = filledStore(t);
  store.insertSnapshot({ id: TRAINED, run: RUN, iteration: 1, base: WEIGHTS, file: null });
  let asked = 0;
  const models = { takeAlone: () => Promise.reject(new C3Error('model', `No model at try ${++asked}.`)) };
  const weights = new Weights(models as never, '/nowhere');
  const request = { store, run: RUN, recipe: {} as never, snapshot: TRAINED, signal: new AbortController().signal };
  for (const message of ['No model at try 1.', 'No model at try 2.']) {
    await assert.rejects(weights.file(request), { kind: 'model', message });
  }
});
