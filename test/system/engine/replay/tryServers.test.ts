/** `c3 try` of a team with a role that a server answers: without seeds, failing in the middle, dead, and too dear. */

import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { c3, copyOf, errorOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';
import { badServer, type Behaviour } from '../../../unit/policy/endpoint/badServer.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

interface Place {
  readonly folder: string;
  /** The address of the server. */
  readonly base: string;
  /** Requests to the server since the run ended. */
  readonly asked: () => number;
  /** From now on, which of these requests fail. */
  readonly failing: (fails: (count: number) => boolean) => void;
}

/** A run whose actor always says 4, each time in other words. */
async function served(t: TestContext): Promise<Place> {
  let count = 0;
  let fails: (count: number) => boolean = () => false;
  const behave: Behaviour = (response) => {
    const own = count++;
    if (fails(own)) {
      response.writeHead(500).end();
      return;
    }
    const choices = [{ index: 0, message: { content: `${own} #### 4` }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices, usage }));
  };
  const { base } = await badServer(t, () => behave);
  const folder = copyOf(t, workspace);
  const file = join(folder, 'tiny.c3.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('steps: 2', 'steps: 0'));
  appendFileSync(file, `policies:\n  actor: {endpoint: "${base}", model_name: team, api: chat, retries: 0}\n`);
  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json']);
  assert.equal(made.code, 0, made.stderr);
  count = 0;
  return {
    folder,
    base,
    asked: () => count,
    failing: (next) => {
      fails = next;
    },
  };
}

const TRY = ['try', '--change', 'top_k=5', '--json', '--budget'] as const;

describe('c3 try where a server answers for a role', () => {
  it('compares without shared random numbers and says so, with no more requests than it said before', async (t) => {
    const { folder, asked } = await served(t);
    const counts = withStore(folder, (store) => store.counts());
    const { code, stdout, stderr } = await c3(folder, [...TRY, '64']);
    assert.equal(code, 0, stderr);
    const found = parseLine(stdout);
    assert.deepEqual([found['unseeded'], found['masked'], found['better'], found['worse']], [['actor'], 0, 0, 0]);
    assert.match(
      String(found['sentence']),
      /pairs\. Unpaired: the policy of actor does not reproduce seeds, so the two sides share no random numbers\. \d+ calls\.$/u,
    );
    const most = Number(/At most (\d+) requests to the endpoint of the role actor/u.exec(stderr)?.[1] ?? NaN);
    assert.ok(asked() > 0 && asked() <= most, `${asked()} of ${most}`);
    assert.deepEqual(
      withStore(folder, (store) => store.counts()),
      counts,
    );
  });

  it('never takes a failure for a score: pairs with one are left out and counted', async (t) => {
    const { folder, failing } = await served(t);
    failing((count) => count === 20 || count === 31);
    const found = parseLine((await c3(folder, [...TRY, '64'])).stdout);
    // Both sides say the same, so that a failure that counted as 0 would be a difference.
    assert.deepEqual([found['better'], found['worse']], [0, 0]);
    const masked = Number(found['masked']);
    assert.ok(masked > 0 && Number(found['same']) > 0);
    assert.match(
      String(found['sentence']),
      new RegExp(` ${masked} pairs? could not be scored and (?:is|are) left out\\.`, 'u'),
    );
  });

  it('ends where the server is dead, and where the spending limit does not reach', async (t) => {
    const { folder, failing } = await served(t);
    const dear = await c3(folder, [...TRY, '64', '--spend-tokens', '1']);
    assert.match(errorOf(dear), /The spending limit of 1 tokens is too low/u);
    // What the server can do is known from the run: only what is asked of the actor fails.
    failing(() => true);
    const found = parseLine((await c3(folder, [...TRY, '4'])).stdout);
    assert.deepEqual([found['evaluatorCalls'], found['same'], found['masked']], [4, 0, 2]);
    assert.equal(found['sentence'], 'No pair could be scored. 2 pairs could not be scored and are left out. 4 calls.');
  });
});

/** A run whose own weights answer for all roles. */
async function trained(t: TestContext): Promise<string> {
  const folder = copyOf(t, workspace);
  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json', '--override', 'steps=0']);
  assert.equal(made.code, 0, made.stderr);
  return folder;
}

describe('c3 try with a server in the place of a role', () => {
  it('says what it may cost, asks no more, counts it, and says that pairs share no random numbers', async (t) => {
    const { base, asked } = await served(t);
    const folder = await trained(t);
    const counts = withStore(folder, (store) => store.counts());
    const change = ['--change', `actor.endpoint=team@${base}/`];
    const before = asked();
    const { code, stdout, stderr } = await c3(folder, ['try', ...change, '--json', '--budget', '64']);
    assert.equal(code, 0, stderr);
    const found = parseLine(stdout);
    assert.deepEqual([found['unseeded'], found['masked']], [['actor'], 0]);
    assert.match(String(found['sentence']), / Unpaired: the policy of actor does not reproduce seeds, /u);
    const most = Number(/At most ([\d,]+) requests to the endpoint of the role actor/u.exec(stderr)?.[1] ?? NaN);
    const requests = asked() - before;
    assert.ok(requests >= 32 && requests <= most, `${requests} of ${most}`);
    withStore(folder, (store) => {
      const [run] = store.runs(0, 1);
      assert.equal(store.spent(run?.id ?? '', 'actor').calls, requests);
      assert.deepEqual(store.counts(), counts);
    });
    // The next trial goes on from what this one spent.
    const dear = await c3(folder, ['try', ...change, '--budget', '64', '--spend-tokens', '500']);
    assert.match(errorOf(dear), /The spending limit of 500 tokens is too low/u);
  });

  it('answers for one role after another', async (t) => {
    const { base } = await served(t);
    const folder = await trained(t);
    const { code, stdout, stderr } = await c3(folder, [
      ...['try', '--each-role', '--with', `a@b@${base}`, '--json', '--budget', '32'],
    ]);
    assert.equal(code, 0, stderr);
    const { roles } = parseLine(stdout) as { readonly roles: readonly Readonly<Record<string, unknown>>[] };
    assert.deepEqual(roles.map(({ role, unseeded }) => [role, unseeded]).toSorted(), [
      ['actor', ['actor']],
      ['reasoner', ['reasoner']],
    ]);
  });

  it('is left out where weights of the run answer for its role', async (t) => {
    const { folder, asked } = await served(t);
    const { code, stdout, stderr } = await c3(folder, [
      ...['try', '--change', 'actor.snapshot=0', '--json', '--budget', '64'],
    ]);
    assert.equal(code, 0, stderr);
    assert.ok(asked() > 0 && asked() <= 32, String(asked()));
    assert.match(stderr, /At most 32 requests to the endpoint of the role actor/u);
    assert.deepEqual(parseLine(stdout)['unseeded'], ['actor']);
  });

  it('is refused in one sentence where it is none, or nothing is known of its price', async (t) => {
    const { base, asked } = await served(t);
    const folder = await trained(t);
    const before = asked();
    for (const [args, words] of [
      [['--change', 'actor.endpoint=team'], /actor\.endpoint needs MODEL@ADDRESS, such as gpt-4\.1@https:\S+\.$/u],
      [['--change', `nobody.endpoint=team@${base}`], /has no role 'nobody'/u],
      [
        ['--change', 'actor.endpoint=team@https://me:secret@a.example/v1'],
        /The server for the role actor: endpoint must have no name, key or query in it/u,
      ],
      [
        ['--change', 'actor.endpoint=team@https://a.example/v1', '--spend-money', '1'],
        /The price of the server for the role actor is not known/u,
      ],
    ] as const) {
      const refused = await c3(folder, ['try', ...args, '--budget', '64']);
      assert.notEqual(refused.code, 0, args.join(' '));
      assert.match(errorOf(refused), words);
      assert.ok(!refused.stderr.includes('secret'));
    }
    assert.equal(asked(), before);
  });
});
