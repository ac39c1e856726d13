import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findEndpointKey } from '../../../../src/engine/models/endpoints.ts';
import { nameKeyVariable } from '../../../../src/shared/endpointKeys.ts';

it('the variable of a key says the host and port that it may go to, and no two hosts share one', () => {
  assert.equal(nameKeyVariable('https://api.example.com/v1'), 'C3_KEY_API_EXAMPLE_COM');
  assert.equal(nameKeyVariable('https://api-example.com/v1'), 'C3_KEY_API__EXAMPLE_COM');
  assert.equal(nameKeyVariable('http://127.0.0.1:8123/v1'), 'C3_KEY_127_0_0_1_8123');
  assert.equal(nameKeyVariable('https://api_example.com/v1'), null);
  assert.equal(nameKeyVariable('https://api..example.com/v1'), null);
});

it('a key is sent encrypted, or within this machine', () => {
  const environment = { C3_KEY_A_EXAMPLE: 'k', C3_KEY_LOCALHOST_1: 'l', C3_KEY_B_EXAMPLE: 'two words' };
  assert.equal(findEndpointKey('https://a.example/v1', environment), 'k');
  assert.equal(findEndpointKey('http://localhost:1/v1', environment), 'l');
  assert.equal(findEndpointKey('https://c.example/v1', environment), null);
  assert.throws(
    () => findEndpointKey('http://a.example/v1', environment),
    /C3_KEY_A_EXAMPLE would be sent .* unencrypted/,
  );
  assert.throws(() => findEndpointKey('https://b.example/v1', environment), /characters that a key cannot have/);
});
