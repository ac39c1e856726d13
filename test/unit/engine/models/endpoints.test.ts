import assert from 'node:assert/strict';
import { it } from 'node:test';
import { keyOf } from '../../../../src/engine/models/endpoints.ts';
import { keyVariable } from '../../../../src/shared/endpointKeys.ts';

it('the variable of a key says the host and port that it may go to, and no two hosts share one', () => {
  assert.equal(keyVariable('https://api.example.com/v1'), 'C3_KEY_API_EXAMPLE_COM');
  assert.equal(keyVariable('https://api-example.com/v1'), 'C3_KEY_API__EXAMPLE_COM');
  assert.equal(keyVariable('http://127.0.0.1:8123/v1'), 'C3_KEY_127_0_0_1_8123');
  assert.equal(keyVariable('https://api_example.com/v1'), null);
  assert.equal(keyVariable('https://api..example.com/v1'), null);
});

it('a key is sent encrypted, or within this machine', () => {
  const environment = { C3_KEY_A_EXAMPLE: 'k', C3_KEY_LOCALHOST_1: 'l', C3_KEY_B_EXAMPLE: 'two words' };
  assert.equal(keyOf('https://a.example/v1', environment), 'k');
  assert.equal(keyOf('http://localhost:1/v1', environment), 'l');
  assert.equal(keyOf('https://c.example/v1', environment), null);
  assert.throws(() => keyOf('http://a.example/v1', environment), /C3_KEY_A_EXAMPLE would be sent .* unencrypted/);
  assert.throws(() => keyOf('https://b.example/v1', environment), /characters that a key cannot have/);
});
