/** What one piece of work holds. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Holds } from '../../../src/shared/holds.ts';

describe('Holds', () => {
  it('gives back the last thing first, all of them also where one fails', async () => {
    const given: string[] = [];
    const holds = new Holds();
    const thing = (name: string, fails = false): AsyncDisposable => ({
      [Symbol.asyncDispose]: () => {
        given.push(name);
        return fails ? Promise.reject(new Error(`${name} fails`)) : Promise.resolve();
      },
    });
    await holds.take(Promise.resolve(thing('first')));
    holds.add(thing('second', true));
    holds.add({ [Symbol.dispose]: () => given.push('third') });
    await assert.rejects(holds[Symbol.asyncDispose](), /second fails/);
    assert.deepEqual(given, ['third', 'second', 'first']);
    await holds[Symbol.asyncDispose]();
    assert.equal(given.length, 3, 'each once');
  });

  it('has nothing any more once it was moved', async () => {
    let held = true;
    const outer = new Holds();
    {
      await using inner = new Holds();
      inner.add({
        [Symbol.dispose]: () => {
          held = false;
        },
      });
      outer.add(inner.move());
    }
    assert.ok(held);
    await outer[Symbol.asyncDispose]();
    assert.ok(!held);
  });
});
