import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EditorWindows, WindowGone } from '../../../../src/engine/models/editorWindows.ts';
import { EndpointPolicy } from '../../../../src/policy/endpoint/endpointPolicy.ts';
import { Spending } from '../../../../src/policy/endpoint/spending.ts';
import type { PolicyAnswer, PolicyControl } from '../../../../src/policy/policy.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import type { EditorAnswer, EditorFailure, EditorModels } from '../../../../src/shared/protocols/editorProtocol.ts';
import type { EditorSettings } from '../../../../src/shared/rolePolicies.ts';

const SETTINGS: EditorSettings = {
  ...{ kind: 'vscode', vscode: { family: 'small' }, concurrency: 2, requests_per_minute: null, retries: 0 },
  ...{ time_limit: 5, prices: { input: 0, output: 0 }, spending: { tokens: null, money: null } },
};
const FREE = (): Spending => new Spending(SETTINGS.spending);
const said: EditorAnswer = { kind: 'answer', text: 'hello', finish: 'end', prompt: 7, completion: 2 };

const windowOf = (
  answer: () => Promise<EditorAnswer | EditorFailure>,
  opened: EditorFailure | null = null,
): EditorModels => ({
  askWait: () => Promise.resolve({ kind: 'stop' }),
  open: () => Promise.resolve(opened ?? { kind: 'open', vendor: 'maker', id: 'a/b', name: 'A' }),
  answer,
});
const saying = windowOf(() => Promise.resolve(said));

async function answer(
  windows: EditorWindows,
  settings: Partial<EditorSettings> = {},
  control: PolicyControl = { signal: NEVER },
  spending = FREE(),
): Promise<readonly PolicyAnswer[]> {
  const { client, probe } = await windows.client('planner', { ...SETTINGS, ...settings }, undefined, spending, NEVER);
  const tokenizer = { encode: (text: string) => new Int32Array(text.length), decode: () => '' };
  const policy = new EndpointPolicy({
    ...{ role: 'planner', client, api: 'chat', model: 'x', stream: false, probe, tokenizer },
  });
  const sampling = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 4 };
  const context = JSON.stringify([{ role: 'user', content: 'Hi' }]);
  return policy.answer([{ role: 'planner', context, sampling, streamKey: 'f'.repeat(32) }], control);
}

it('the command line, to which no window ever came, has none, and says so at once', async () => {
  await assert.rejects(answer(new EditorWindows()), {
    kind: 'input',
    message: /chat model of VS Code answers for the role planner, and the command line has none; start this in VS Code/,
  });
});

it('an answer is sampled, not exact, and is counted; the model keeps its name', async () => {
  const windows = new EditorWindows();
  windows.add(saying);
  const spending = FREE();
  const [given] = await answer(windows, {}, { signal: NEVER }, spending);
  assert.deepEqual([given?.text, given?.finish, given?.tokens.length, given?.prompt.length], ['hello', 'end', 5, 7]);
  const { calls, prompt, completion } = spending.spent;
  assert.deepEqual([calls, prompt, completion], [1, 7, 2]);
  const { probe } = await windows.client('planner', SETTINGS, undefined, spending, NEVER);
  assert.deepEqual([probe.seeds, probe.served_as], ['none', 'maker/a/b']);
});

it('a window that goes is followed by another; where none comes, the message is lost or the work ends typed', async () => {
  const windows = new EditorWindows(0);
  const gone = windowOf(() => Promise.reject(new WindowGone()));
  const [first, second] = [windows.add(gone), windows.add(saying)];
  assert.equal((await answer(windows))[0]?.text, 'hello');
  second();
  // Infrastructure that failed: masked, and no score.
  const [lost] = await answer(windows);
  assert.match(lost?.lost ?? '', /closed its window before it answered/);
  first();
  await assert.rejects(answer(windows), { kind: 'engine', message: /no window of VS Code has this folder open/ });
});

it('a window that comes back in time is waited for', async () => {
  const windows = new EditorWindows(60_000);
  windows.add(saying)();
  const waiting = answer(windows);
  windows.add(saying);
  assert.equal((await waiting)[0]?.text, 'hello');
});

it('what no attempt can help is one sentence in plain words, and where a model failed the message is lost', async () => {
  const refusals: [EditorFailure, string, RegExp][] = [
    [{ kind: 'missing', words: '' }, 'input', /offers no chat model for policies\.planner \(family small\); install/],
    [
      { kind: 'missing', words: 'm s (o)' },
      'input',
      /; name one of those that it offers, m s \(o\), or an endpoint\.$/,
    ],
    [{ kind: 'consent', words: '' }, 'input', /not allowed to ask .*; allow it in VS Code/],
    [{ kind: 'quota', words: 'monthly' }, 'budget', /quota .* is used up, or it is blocked: monthly; resume when/],
  ];
  for (const [failure, kind, message] of refusals) {
    const windows = new EditorWindows(0);
    windows.add(windowOf(() => assert.fail(), failure));
    await assert.rejects(answer(windows), { kind, message });
  }
  const late = new EditorWindows(0);
  late.add(windowOf(() => Promise.resolve({ kind: 'quota', words: '' })));
  await assert.rejects(answer(late), { kind: 'budget', message: /\(A\) is used up/ });
  const failing = new EditorWindows(0);
  failing.add(windowOf(() => Promise.resolve({ kind: 'failed', words: 'oops' })));
  assert.match((await answer(failing))[0]?.lost ?? '', /failed: oops/);
});

it('cancellation and the limits of tokens hold as at a server', async () => {
  const windows = new EditorWindows(0);
  const controller = new AbortController();
  windows.add(
    windowOf(() => {
      controller.abort();
      return Promise.reject(new CancelledError());
    }),
  );
  await assert.rejects(answer(windows, {}, { signal: controller.signal }), CancelledError);
  const spending = new Spending({ tokens: 10, money: null });
  await assert.rejects(answer(windows, {}, { signal: NEVER }, spending), { kind: 'budget' });
});

it('a long wait is agreed to in a window alone: one that goes is followed by another, and none agrees to nothing', async () => {
  const windows = new EditorWindows();
  const wait = { server: 'api.example.com', milliseconds: 3_600_000 };
  assert.equal(await windows.askWait(wait, NEVER), false);
  const leave = windows.add({ ...saying, askWait: () => Promise.reject(new WindowGone()) });
  assert.equal(await windows.askWait(wait, NEVER), false);
  const asked: object[] = [];
  windows.add({
    ...saying,
    askWait: (given) => {
      asked.push(given);
      return Promise.resolve({ kind: asked.length === 1 ? 'wait' : 'stop' });
    },
  });
  assert.equal(await windows.askWait(wait, NEVER), true);
  leave();
  assert.equal(await windows.askWait(wait, NEVER), false);
  assert.deepEqual(asked, [wait, wait]);
});
