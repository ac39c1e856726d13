/** A team whose roles servers answer: runs, replays, verification, limits, and where keys are not. */

import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { z } from 'zod';
import { OfferKeysRequest, REQUESTS } from '../../../../src/shared/protocols/engineProtocol.ts';
import { runtime, startEngine } from '../../../unit/engine/engineProcess.ts';
import { c3, copyOf, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';
import { badServer, type Behaviour } from '../../../unit/policy/endpoint/badServer.ts';
import { base, KEY, servedAtOnce, workspace } from './servedTeam.ts';

/** A copy of the workspace whose configuration has policies, each at an address. */
function withPolicies(
  t: TestContext,
  roles: readonly string[],
  more: string,
  { steps = 'steps: 0', address = base }: { readonly steps?: string; readonly address?: string } = {},
): string {
  const folder = copyOf(t, workspace);
  const policies = roles.map((role) => `  ${role}: {endpoint: "${address}", model_name: team, ${more}}\n`).join('');
  appendFileSync(join(folder, 'tiny.c3.yaml'), `policies:\n${policies}`);
  const file = join(folder, 'tiny.c3.yaml');
  const text = readFileSync(file, 'utf8').replace('steps: 2', steps);
  rmSync(file);
  appendFileSync(file, text);
  return folder;
}

const firstMessage = (folder: string, run: string, role: string): number =>
  withStore(folder, (store) => {
    for (const { leaf } of store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 })) {
      const found = store.chain(leaf).find(({ role: speaker }) => speaker === role);
      return found?.id ?? 0;
    }
    return 0;
  });

/** Every file below a folder that holds a text. */
const holding = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(text));

describe('a whole team at c3 serve', () => {
  for (const api of ['completions', 'chat']) {
    it(`is evaluated, replayed and verified to the token, asked by ${api}; its key is in no file`, async (t) => {
      const folder = withPolicies(t, ['reasoner', 'actor'], `api: ${api}, stream: ${String(api === 'chat')}`);
      const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json']);
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stderr, /endpoint of the role actor gives equal answers for equal seeds/);
      const run = String(parseLine(made.stdout)['run']);
      const replayed = await c3(folder, [
        'replay',
        String(firstMessage(folder, run, 'reasoner')),
        '--alternatives',
        '3',
        '--replays',
        '2',
        '--json',
      ]);
      assert.equal(replayed.code, 0, replayed.stderr);
      const verified = parseLine((await c3(folder, ['verify', '--json'])).stdout);
      assert.ok(Number(verified['checked']) >= 8);
      assert.equal(verified['identical'], verified['checked'], JSON.stringify(verified));
      const report = await c3(folder, ['report', '--run', run, '--out', 'report.html']);
      assert.equal(report.code, 0, report.stderr);
      assert.deepEqual(holding(folder, KEY), []);
    });
  }

  it('cannot be trained, and the sentence says what can', async (t) => {
    const folder = withPolicies(t, ['reasoner', 'actor'], 'api: chat', { steps: 'steps: 1' });
    assert.match(errorOf(await c3(folder, ['run', 'tiny.c3.yaml'])), /only roles that the run's own model answers can/);
  });
});

it('one role at c3 serve, the other learns beside it', async (t) => {
  const folder = withPolicies(t, ['reasoner'], 'api: completions', { steps: 'steps: 1' });
  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json']);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stderr, /The role reasoner is answered by the model team of http.*never trained on/);
});

/** Answers that no seed repeats: each is another one. */
const unseeded =
  (fails: (count: number) => boolean = () => false): Behaviour =>
  (response, { body }) => {
    const count = asked++;
    if (body['max_tokens'] === 6 && fails(count)) {
      response.writeHead(500).end();
      return;
    }
    const choices = [{ index: 0, message: { content: `${count} #### ${answered}` }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices, usage }));
  };
let asked = 0;
let answered = '4';

async function atBadServer(t: TestContext, behave: Behaviour, more: string): Promise<string> {
  const bad = await badServer(t, () => behave);
  return withPolicies(t, ['actor'], `api: chat, ${more}`, { address: bad.base });
}

it('a server that keeps to no seeds: sampled, not exact, and verification says so', async (t) => {
  const folder = await atBadServer(t, unseeded(), 'retries: 0');
  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json']);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stderr, /does not keep to seeds: its messages are sampled, not exact\./);
  const run = String(parseLine(made.stdout)['run']);
  const message = String(firstMessage(folder, run, 'actor'));
  const replayed = await c3(folder, ['replay', message, '--alternatives', '3', '--json']);
  assert.equal(replayed.code, 0, replayed.stderr);
  const { stdout, stderr } = await c3(folder, ['verify', '--json']);
  const verified = parseLine(stdout);
  assert.ok(Number(verified['checked']) > 0);
  // What that costs at most is said before: as many messages as are stored.
  const most = new RegExp(
    `To sample again: At most ${String(verified['checked'])} requests to the endpoint of the role actor`,
  );
  assert.match(stderr, most);
  assert.equal(verified['notComparable'], verified['checked'], JSON.stringify(verified));
  assert.match(String(verified['firstReason']), /takes no seeds/);
  // The bytes say nothing: the returns are compared, and show it when the server is not what it was.
  const { n, p } = z
    .looseObject({ n: z.looseObject({ stored: z.number() }), p: z.number() })
    .parse(verified['returns']);
  assert.deepEqual([n.stored, p], [verified['checked'], 1]);
  const { answer } = withStore(folder, (store) => store.problem(store.message(Number(message)).problem));
  answered = answer;
  t.after(() => {
    answered = '4';
  });
  assert.equal((await c3(folder, ['replay', message, '--alternatives', '8', '--json'])).code, 0);
  answered = 'nothing';
  const { stdout: changed } = await c3(folder, ['verify', message]);
  assert.match(
    changed,
    /sampled, not exact, so returns were compared instead: mean 0\.\d+ stored \(n 1\d\), 0\.000 sampled/,
  );
  assert.match(changed, /by permutation: the returns have changed/);
});

it('a message that cannot be had masks its episode, and is no score of 0', async (t) => {
  const folder = await atBadServer(
    t,
    unseeded((count) => count % 2 === 0),
    'retries: 0',
  );
  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json']);
  assert.equal(made.code, 0, made.stderr);
  const run = String(parseLine(made.stdout)['run']);
  const returns = withStore(folder, (store) =>
    store
      .episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 100 })
      .map(({ leaf, return: value }) => [store.message(leaf).text === '', value, leaf] as const),
  );
  assert.ok(returns.some(([lost]) => lost) && returns.some(([lost]) => !lost));
  assert.ok(returns.every(([lost, value]) => lost === (value === null)));
  // Nor is it scored where it is replayed.
  const missing = returns.find(([lost]) => lost)?.[2] ?? assert.fail('every message came');
  const replayed = await c3(folder, ['replay', String(missing), '--alternatives', '2', '--json']);
  const { original } = parseLine(replayed.stdout) as { original: { returns: unknown; credit: unknown } };
  assert.deepEqual([original.returns, original.credit], [[null], null], replayed.stdout);
});

it('a spending limit ends a run before it is passed, and what was stored stays', async (t) => {
  const folder = await atBadServer(t, unseeded(), 'prices: {input: 1000000, output: 1000000}, spending: {money: 300}');
  const made = await c3(folder, ['run', 'tiny.c3.yaml']);
  assert.equal(made.code, 1);
  assert.match(errorOf(made), /The spending limit of 300 is too low for another request of at most \d+ tokens/);
});

it('a server that answers nothing any more interrupts the run, which is not done and has no score', async (t) => {
  const folder = await atBadServer(
    t,
    unseeded(() => true),
    'retries: 0',
  );
  const made = await c3(folder, ['run', 'tiny.c3.yaml']);
  assert.equal(made.code, 1);
  assert.match(
    errorOf(made),
    /was interrupted at step 0 of 0: No message was given for any of \d+ episodes, the first because 127\.0\.0\.1:\d+ failed with 500.* resume it when the server answers again\./,
  );
  const run = withStore(folder, (store) => store.runs(0, 1)[0]);
  assert.deepEqual([run?.status, run?.summary], ['failed', null]);
});

it('what a run and its replays spend is one sum, which the limit holds over both', async (t) => {
  const prices = 'prices: {input: 1, output: 2}';
  const folder = await atBadServer(t, unseeded(), prices);
  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json']);
  assert.equal(made.code, 0, made.stderr);
  const run = String(parseLine(made.stdout)['run']);
  const spent = (): ReturnType<Parameters<Parameters<typeof withStore>[1]>[0]['spent']> =>
    withStore(folder, (store) => store.spent(run, 'actor'));
  const messages = z.looseObject({ decisions: z.record(z.string(), z.number()) }).parse(JSON.parse(made.stdout))
    .decisions['actor'];
  const ofRun = spent();
  // And what it was asked before the run, to see what it can do.
  assert.equal(ofRun.calls, (messages ?? 0) + 7);
  assert.deepEqual([ofRun.prompt, ofRun.completion], [10 * ofRun.calls, 5 * ofRun.calls]);
  const message = String(firstMessage(folder, run, 'actor'));
  const replay = ['replay', message, '--alternatives', '3', '--json'];
  const tokens = 15 * ofRun.calls;
  const refused = await c3(folder, [...replay, '--spend-tokens', String(tokens + 1)]);
  assert.equal(refused.code, 1);
  assert.match(errorOf(refused), new RegExp(`is too low for another request .*: ${tokens} tokens .* spent`));
  assert.deepEqual(spent(), ofRun);
  const replayed = await c3(folder, replay);
  assert.equal(replayed.code, 0, replayed.stderr);
  assert.match(
    replayed.stderr,
    /At most 3 requests to the endpoint of the role actor, [\d,]+ tokens and [\d.]+ of money; no spending limit is set\./,
  );
  assert.equal(spent().calls, ofRun.calls + 3);
  const plan = await c3(folder, ['plan', 'tiny.c3.yaml']);
  assert.match(plan.stdout, /At most \d+ requests to the endpoint of the role actor, [\d,]+ tokens and/);
});

it('a key that a window gives is used, and is in no file of the workspace, log, report or export', async (t) => {
  const key = 'sk-c3-given-by-the-window-9876543210';
  const withKey = unseeded();
  const refused: (string | undefined)[] = [];
  const folder = await atBadServer(
    t,
    (response, request) => {
      if (request.authorization !== `Bearer ${key}`) {
        refused.push(request.authorization);
        response.writeHead(401).end(JSON.stringify({ error: { message: `not ${String(request.authorization)}` } }));
        return;
      }
      return withKey(response, request);
    },
    'retries: 0',
  );
  const { port } = new URL(/endpoint: "([^"]+)"/.exec(readFileSync(join(folder, 'tiny.c3.yaml'), 'utf8'))?.[1] ?? '');
  const engine = await startEngine(t, folder);
  const config = { config: join(folder, 'tiny.c3.yaml'), overrides: [] };
  await assert.rejects(engine.run(config), /refuses the key \(401\)/);
  await engine.connection.sendRequest(OfferKeysRequest, { keys: { [`C3_KEY_127_0_0_1_${port}`]: key } });
  const { run } = await engine.run(config);
  const message = firstMessage(folder, run, 'actor');
  const asked = { message, alternatives: 2, replays: 1, text: null };
  const [cost] = await engine.connection.sendRequest(REQUESTS.replayCosts, asked);
  assert.deepEqual([cost?.role, cost?.requests, cost?.local], ['actor', 2, true]);
  await engine.connection.sendRequest(REQUESTS.replay, asked);
  assert.deepEqual(refused, [undefined]);
  assert.ok(!engine.log().includes(key));
  await engine.leave();
  for (const args of [
    ['report', '--run', run, '--out', 'report.html'],
    ['report', '--message', String(message), '--out', 'message.html'],
    ['export', '--run', run, '--format', 'buckets', '--out', 'buckets.json'],
  ]) {
    const made = await c3(folder, args);
    assert.equal(made.code, 0, made.stderr);
  }
  assert.deepEqual([holding(folder, key), holding(runtime, key)], [[], []]);
});

servedAtOnce(48, 6);
