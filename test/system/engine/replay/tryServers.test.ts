/** `c3 try` of a team with a role that a server answers: without seeds, failing in the middle, dead, and too dear. */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { badServer, type Behaviour } from '../../../unit/policy/endpoint/badServer.ts';
import { c3, copyOf, errorOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => {
  rmSync(workspace, { recursive: true, force: true });
});

interface Place {
  readonly folder: string;
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
    const choices = [{ index: 0, message: { content: `${String(own)} #### 4` }, finish_reason: 'stop' }];
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
      /pairs\. Unpaired: what answers for actor keeps to no seeds, so that the two sides share no random numbers\. \d+ calls\.$/u,
    );
    const most = Number(/At most (\d+) requests to the endpoint of the role actor/u.exec(stderr)?.[1] ?? NaN);
    assert.ok(asked() > 0 && asked() <= most, `${String(asked())} of ${String(most)}`);
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
      new RegExp(` ${String(masked)} pairs? could not be scored and (?:is|are) left out\\.`, 'u'),
    );
  });

  it('ends where the server is dead, and where the spending limit does not reach', async (t) => {
    const { folder, failing } = await served(t);
    const dear = await c3(folder, [...TRY, '64', '--spend-tokens', '1']);
    assert.match(errorOf(dear), /The spending limit of 1 tokens does not reach/u);
    // What the server can do is known from the run: only what is asked of the actor fails.
    failing(() => true);
    const found = parseLine((await c3(folder, [...TRY, '4'])).stdout);
    assert.deepEqual([found['evaluatorCalls'], found['same'], found['masked']], [4, 0, 2]);
    assert.equal(found['sentence'], 'No pair could be scored. 2 pairs could not be scored and are left out. 4 calls.');
  });
});
