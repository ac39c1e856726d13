/** What `c3 serve` reads in a request, and what it refuses because it does not do it. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ServeError } from '../../../../src/engine/serve/serveError.ts';
import { readServedRequest, type ServedApi } from '../../../../src/engine/serve/serveRequest.ts';

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const COMPLETION = { model: 'm', prompt: 'Hi' };
const read = (api: ServedApi, more: object): unknown =>
  readServedRequest(api, { ...(api === 'chat' ? CHAT : COMPLETION), ...more }, 'm');
/** A refusal with this status that names the key. */
function refuses(status: number, key: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServeError);
    assert.deepEqual([error.status, error.parameter], [status, key], error.message);
    return true;
  };
}

it('what the server does not do is refused by its key, and read where it asks for nothing', () => {
  const cases: readonly (readonly [key: string, asks: unknown, asksNothing: unknown])[] = [
    ['tools', [{ type: 'function' }], []],
    ['tool_choice', 'required', 'auto'],
    ['response_format', { type: 'json_object' }, { type: 'text' }],
    ['logit_bias', { 7: 100 }, {}],
    ['presence_penalty', 0.5, 0],
    ['best_of', 2, 1],
    ['echo', true, false],
    ['suffix', 'end', ''],
    ['min_tokens', 3, 0],
    ['top_logprobs', 5, null],
  ];
  for (const [key, asks, asksNothing] of cases) {
    for (const api of ['chat', 'completions'] as const) {
      assert.throws(() => read(api, { [key]: asks }), refuses(400, key), `${api} ${key}`);
      assert.deepEqual(read(api, { [key]: asksNothing }), read(api, {}), `${api} ${key}`);
    }
  }
});

it('a request for another model, or for log-probabilities of other tokens, is refused', () => {
  assert.throws(() => read('chat', { model: 'other' }), refuses(404, 'model'));
  assert.throws(() => read('completions', { logprobs: 2 }), refuses(400, 'logprobs'));
});
