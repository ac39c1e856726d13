/** `c3 serve` as other programs meet it: a process, its protocol, and its end. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { finished, startC3 } from '../../../unit/engine/workspace.ts';
import { folderOf, readExpected } from '../../../unit/golden.ts';

const choiceSchema = z.looseObject({
  index: z.int(),
  text: z.string().optional(),
  message: z.looseObject({ content: z.string() }).optional(),
  delta: z.looseObject({ content: z.string().optional() }).optional(),
  finish_reason: z.string().nullable(),
  token_ids: z.array(z.int()).optional(),
  prompt_token_ids: z.array(z.int()).optional(),
  logprobs: z.looseObject({ token_logprobs: z.array(z.number()).optional() }).nullish(),
});
const bodySchema = z.looseObject({
  choices: z.array(choiceSchema),
  seed: z.int(),
  usage: z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int() }).optional(),
  prompt_token_ids: z.array(z.int()).optional(),
});
const errorSchema = z.looseObject({ error: z.looseObject({ message: z.string(), param: z.string().nullable() }) });
type Body = z.output<typeof bodySchema>;

const MODEL = 'qwen3';
let folder = '';
let url = '';
let token = '';
let server: ReturnType<typeof startC3>;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'c3-serve-'));
  server = startC3(folder, ['serve', '--model', folderOf(MODEL), '--json']);
  // A server that cannot start says why instead.
  const ended = finished(server).then(({ stderr }): never => {
    throw new Error(stderr);
  });
  ended.catch(() => undefined);
  const [line] = (await Promise.race([once(server.stdout, 'data'), ended])) as [Buffer];
  ({ url, token } = z.looseObject({ url: z.string(), token: z.string() }).parse(JSON.parse(line.toString())));
});
after(async () => {
  const end = finished(server);
  server.kill('SIGINT');
  assert.equal((await end).code, 0);
  rmSync(folder, { recursive: true, force: true });
});

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
async function ask(path: string, body: object): Promise<Body> {
  const response = await post(path, body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return bodySchema.parse(JSON.parse(text));
}
async function refused(status: number, response: Response): Promise<string> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return errorSchema.parse(JSON.parse(text)).error.message;
}
/** The pieces of a stream, in order, up to its end. */
async function streamed(path: string, body: object): Promise<Body[]> {
  const text = await (await post(path, { ...body, stream: true })).text();
  const events = text.trimEnd().split('\n\n');
  assert.equal(events.pop(), 'data: [DONE]');
  return events.map((event) => bodySchema.parse(JSON.parse(event.replace(/^data: /u, ''))));
}

describe('an answer', () => {
  it('has the greedy tokens that Transformers has, for texts, ids and chats', async () => {
    const { prompts, chat } = await readExpected(MODEL);
    const length = prompts[0]?.greedy.length ?? 0;
    const settings = { max_tokens: length, temperature: 0, return_token_ids: true };
    const [texts, ids] = await Promise.all([
      ask('completions', { ...settings, prompt: prompts.map(({ text }) => text) }),
      ask('completions', { ...settings, prompt: prompts.map((one) => one.ids) }),
    ]);
    for (const body of [texts, ids]) {
      assert.deepEqual(
        body.choices.map(({ token_ids: found }) => found),
        prompts.map(({ greedy }) => greedy),
      );
    }
    for (const { messages, ids: expected } of chat) {
      const body = await ask('chat/completions', { ...settings, messages });
      assert.deepEqual(body.prompt_token_ids, expected);
      assert.equal(body.usage?.prompt_tokens, expected.length);
    }
  });

  it('is the same for a seed whatever is beside it, another for another seed or choice, and repeatable without one', async () => {
    const body = { prompt: 'One day', max_tokens: 12, return_token_ids: true, n: 3 };
    const alone = await ask('completions', { ...body, seed: 7 });
    const together = await Promise.all([
      ...Array.from({ length: 20 }, (_, index) => ask('completions', { ...body, seed: 100 + index })),
      ask('completions', { ...body, seed: 7 }),
    ]);
    assert.deepEqual(together.at(-1)?.choices, alone.choices);
    assert.equal(new Set(alone.choices.map((choice) => JSON.stringify(choice.token_ids))).size, 3);
    assert.equal(new Set(together.slice(0, -1).map(({ choices }) => JSON.stringify(choices))).size, 20);
    const open = await ask('completions', body);
    assert.deepEqual((await ask('completions', { ...body, seed: open.seed })).choices, open.choices);
  });

  it('is a stream of what it is as a whole: texts, tokens, log-probabilities and counts', async () => {
    const body = { prompt: 'One day', max_tokens: 12, seed: 5, n: 2, logprobs: 0, return_token_ids: true };
    const whole = await ask('completions', body);
    const pieces = await streamed('completions', { ...body, stream_options: { include_usage: true } });
    assert.ok(pieces.length > 2 * 2 + 1);
    for (const { index, text, token_ids: ids, logprobs, finish_reason: finish } of whole.choices) {
      const own = pieces.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
      assert.equal(own.map((piece) => piece.text).join(''), text);
      assert.deepEqual(
        own.flatMap((piece) => piece.token_ids ?? []),
        ids,
      );
      assert.deepEqual(
        own.flatMap((piece) => piece.logprobs?.token_logprobs ?? []),
        logprobs?.token_logprobs,
      );
      assert.equal(own.at(-1)?.finish_reason, finish);
    }
    assert.deepEqual(pieces.at(-1)?.usage, whole.usage);
  });

  it('ends before a stop text, streamed or not', async () => {
    const body = { prompt: 'One day', max_tokens: 24, seed: 5, return_token_ids: true };
    const whole = await ask('completions', body);
    const text = whole.choices[0]?.text ?? '';
    const stop = text.slice(5, 7);
    const cut = await ask('completions', { ...body, stop: [stop, 'never there'] });
    assert.equal(cut.choices[0]?.text, text.slice(0, text.indexOf(stop)));
    assert.equal(cut.choices[0].finish_reason, 'stop');
    const count = cut.choices[0].token_ids?.length ?? 0;
    assert.deepEqual(cut.choices[0].token_ids, whole.choices[0]?.token_ids?.slice(0, count));
    assert.ok(count < (whole.choices[0]?.token_ids?.length ?? 0));
    const pieces = await streamed('completions', { ...body, stop });
    assert.equal(pieces.flatMap(({ choices }) => choices.map((piece) => piece.text)).join(''), cut.choices[0].text);
  });
});

describe('what is not answered', () => {
  it('is refused with a sentence', async () => {
    const chat = { messages: [{ role: 'user', content: 'Hello' }] };
    const cases: readonly (readonly [number, Promise<Response>, RegExp])[] = [
      [401, post('completions', {}, { authorization: 'Bearer wrong' }), /bearer token is missing or wrong/],
      [403, post('completions', {}, { origin: 'http://127.0.0.1' }), /web pages/],
      [415, post('completions', '{}', { 'content-type': 'text/plain' }), /application\/json/],
      [400, post('completions', '{"prompt": '), /not JSON/],
      [400, post('completions', {}), /^prompt: /],
      [400, post('completions', { prompt: 'a', max_tokens: 1e6 }), /positions/],
      [400, post('completions', { prompt: [10 ** 6] }), /token/],
      [400, post('completions', { prompt: [2 ** 32] }), /prompt/],
      [400, post('chat/completions', { ...chat, n: 65 }), /^n: /],
      [400, post('chat/completions', { ...chat, tools: [{ type: 'function' }] }), /^tools is not supported/],
      [400, post('chat/completions', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }), /parts/],
      [404, post('chat/completions', { ...chat, model: 'gpt' }), /no model "gpt" here; this server has qwen3/],
      [404, post('embeddings', {}), /nothing at/],
      [405, fetch(`${url}/completions`, { headers: { authorization: `Bearer ${token}` } }), /must be POST/],
      [413, post('completions', JSON.stringify({ prompt: 'a'.repeat(9 * 2 ** 20) })), /more than 8388608 bytes/],
    ];
    for (const [status, response, words] of cases) {
      assert.match(await refused(status, await response), words);
    }
    assert.equal((await ask('chat/completions', { ...chat, tools: [], max_tokens: 2 })).choices.length, 1);
  });

  it('has another Host than this machine, as a name that was bound to it would', async () => {
    const headers = { host: 'rebound.example', authorization: `Bearer ${token}` };
    const asked = httpRequest(`${url}/models`, { headers }).end();
    const [response] = (await once(asked, 'response')) as [{ statusCode: number; resume: () => void }];
    response.resume();
    assert.equal(response.statusCode, 403);
  });
});

it('a client that leaves is forgotten, and the server answers on', async () => {
  const leaving = new AbortController();
  const asked = fetch(`${url}/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'One day', max_tokens: 100, n: 32, temperature: 3, stream: true }),
    signal: leaving.signal,
  });
  await (await asked).body?.getReader().read();
  leaving.abort();
  assert.equal((await ask('completions', { prompt: 'One', max_tokens: 2, seed: 1 })).choices.length, 1);
});
