import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deviceSelfTest, listProviders } from '../../../src/runtime/selfTest.ts';

it('the self-test passes with one thread and with several', async () => {
  for (const threads of [1, 4]) assert.match(await deviceSelfTest({ threads }), /^passed: 8 completions the same in two orders, sampler and trainer within /);
});

it('the processor is a usable provider', () => {
  assert.ok(listProviders().some(({ name, usable }) => name === 'cpu' && usable));
});
