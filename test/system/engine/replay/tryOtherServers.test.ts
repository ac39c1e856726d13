/** `c3 try` with servers that a change names: for the whole team, without a chat API, and with prices. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { startAnsweringServer } from '../../../support/answeringServer.ts';
import { c3, CONFIG, copyOf, errorOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
/** A run whose own weights answer for all roles. */
before(async () => {
  workspace = await makeWorkspace();
  const made = await c3(workspace, ['run', 'tiny.c3.yaml', '--override', 'steps=0', '--json']);
  assert.equal(made.code, 0, made.stderr);
  run = String(parseLine(made.stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

type Asked = Readonly<Record<string, unknown>>;
interface Server {
  readonly base: string;
  readonly asked: Asked[];
}

/** A server with one of the two APIs. Each answer has 10 tokens of the prompt and 5 of its own. */
async function serving(t: TestContext, api: 'chat' | 'completions', seeded: boolean): Promise<Server> {
  const asked: Asked[] = [];
  const base = await startAnsweringServer(t, (body, request, response) => {
    const type = { 'content-type': 'application/json' };
    if (request.url !== (api === 'chat' ? '/v1/chat/completions' : '/v1/completions')) {
      response.writeHead(404, type).end('{"error": {"message": "no such path"}}');
      return;
    }
    asked.push(body);
    const text = `${seeded ? JSON.stringify(body['seed'] ?? null) : asked.length} #### 4`;
    const choice = { index: 0, finish_reason: 'stop', ...(api === 'chat' ? { message: { content: text } } : { text }) };
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    response.writeHead(200, type).end(JSON.stringify({ choices: [choice], usage }));
  });
  return { base, asked };
}

interface Tried {
  readonly found: Record<string, unknown>;
  readonly stderr: string;
}

async function tried(folder: string, ...args: readonly string[]): Promise<Tried> {
  const { code, stdout, stderr } = await c3(folder, ['try', ...args, '--budget', '16', '--json']);
  assert.equal(code, 0, stderr);
  return { found: parseLine(stdout), stderr };
}

/** The highest numbers of requests that were announced, all roles together. */
const announced = (stderr: string): number =>
  [...stderr.matchAll(/At most ([\d,]+) requests/gu)].reduce((sum, [, most = '']) => sum + Number(most), 0);

/** Requests of episodes, whose contexts have the prompt of a role. */
const ofRoles = (asked: readonly Asked[]): number =>
  asked.filter((body) => !JSON.stringify(body).includes('that nobody expects')).length;

describe('a server for the whole team', () => {
  it('answers for every role, is probed once, and shares no random numbers where it has no seeds', async (t) => {
    const { base, asked } = await serving(t, 'chat', false);
    const { found, stderr } = await tried(copyOf(t, workspace), '--change', `endpoint=team@${base}`);
    assert.deepEqual([found['unseeded'], found['masked']], [['reasoner', 'actor'], 0]);
    assert.match(String(found['sentence']), / Unpaired: the policy of reasoner and actor does not reproduce seeds, /u);
    // Eight pairs, in which both roles speak once with the change.
    assert.equal(ofRoles(asked), 16);
    assert.ok(asked.length <= announced(stderr), String(asked.length));
    // A probe repeats a question at most once.
    const times = [...Map.groupBy(asked, (body) => JSON.stringify(body)).entries()]
      .filter(([body]) => body.includes('that nobody expects'))
      .map(([, same]) => same.length);
    assert.equal(Math.max(...times), 2);
    assert.deepEqual(found['costs'], {
      before: { prompt: 0, completion: 0, money: 0 },
      after: { prompt: 160, completion: 80, money: null },
    });
  });

  it('is paired where it keeps seeds, and leaves a role to another policy that the change names', async (t) => {
    const { base, asked } = await serving(t, 'chat', true);
    const change = ['--change', `endpoint=team@${base}`, '--change', 'reasoner.snapshot=0'];
    const { found } = await tried(copyOf(t, workspace), ...change);
    assert.deepEqual([found['unseeded'], Object.keys(found['servers'] ?? {})], [undefined, ['actor']]);
    assert.equal(ofRoles(asked), 8);
  });
});

describe('a server without a chat API', () => {
  it('is asked for completions of the exact contexts, and the answer says so', async (t) => {
    const { base, asked } = await serving(t, 'completions', true);
    const folder = copyOf(t, workspace);
    const { found, stderr } = await tried(folder, '--change', `actor.endpoint=team@${base}`);
    assert.match(stderr, /The server for the role actor takes no chat requests; it is asked for completions/u);
    assert.deepEqual(found['servers'], { actor: { api: 'completions', prices: null } });
    assert.ok(asked.length <= announced(stderr));
    const prompts = asked.map(({ prompt }) => String(prompt)).filter((prompt) => !prompt.includes('nobody expects'));
    // The run's own model read contexts of the same form.
    const { contexts } = withStore(folder, (store) => {
      const [episode] = store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 });
      return { contexts: store.fullMessage(episode?.leaf ?? 0).context };
    });
    const [head = ''] = contexts.split('How many');
    assert.equal(prompts.length, 8);
    assert.ok(head !== '' && prompts.every((prompt) => prompt.startsWith(head.slice(0, 20))), prompts[0]);
  });

  it('is refused in the words of the chat API where it has no other either', async (t) => {
    const base = await startAnsweringServer(t, (_, request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error: request.url }));
    });
    const refused = await c3(copyOf(t, workspace), ['try', '--change', `actor.endpoint=x@${base}`, '--budget', '16']);
    assert.match(errorOf(refused), /The endpoint of the role actor, .* \(404\): \/v1\/chat\/completions; check /u);
  });
});

describe('the prices of a server', () => {
  it('give the cost of both sides, and a limit of money counts each server at its own', async (t) => {
    const { base } = await serving(t, 'chat', true);
    const folder = copyOf(t, workspace);
    const change = ['--change', `actor.endpoint=team@${base}`];
    const { found } = await tried(folder, ...change, '--prices', '100, 1000');
    // Eight requests of 10 and 5 tokens: 80 * 100 + 40 * 1000, for a million.
    assert.deepEqual(found['costs'], {
      before: { prompt: 0, completion: 0, money: 0 },
      after: { prompt: 80, completion: 40, money: 0.048 },
    });
    const spent = withStore(folder, (store) => store.spent(run, 'actor'));
    assert.equal(spent.money.toFixed(9), ((spent.calls * (10 * 100 + 5 * 1000)) / 1e6).toFixed(9));
    assert.deepEqual(spent.unpriced, { prompt: 0, completion: 0 });
    // Another server is cheaper, but what the first one charged stays charged.
    const other = await c3(folder, ['try', ...change, '--prices', '0,1', '--budget', '16', '--spend-money', '0.1']);
    assert.match(errorOf(other), /The spending limit of 0\.1 is too low/u);
    const shown = await c3(folder, ['try', ...change, '--budget', '16']);
    assert.match(shown.stdout, /^Servers: 0 tokens without the change, 120 tokens \(no price is known\) with it\.$/mu);
  });

  it('are those of the same server in the configuration of the run, which also says its API', async (t) => {
    const { base } = await serving(t, 'completions', true);
    const folder = copyOf(t, workspace);
    const policy = `{endpoint: "${base}", model_name: team, api: completions, prices: {input: 100, output: 1000}}`;
    writeFileSync(join(folder, 'served.c3.yaml'), `${CONFIG}policies:\n  reasoner: ${policy}\n`);
    const made = await c3(folder, ['run', 'served.c3.yaml', '--override', 'steps=0', '--json']);
    assert.equal(made.code, 0, made.stderr);
    const { found, stderr } = await tried(folder, '--change', `actor.endpoint=team@${base}`);
    assert.ok(!stderr.includes('takes no chat requests'));
    assert.deepEqual(found['servers'], { actor: { api: 'completions', prices: { input: 100, output: 1000 } } });
    // Without the change, the reasoner asks the same server.
    assert.deepEqual(found['costs'], {
      before: { prompt: 80, completion: 40, money: 0.048 },
      after: { prompt: 160, completion: 80, money: 0.096 },
    });
  });

  it('are refused where they are none, or no server is named', async () => {
    for (const [args, words] of [
      [['--change', 'actor.endpoint=x@http://127.0.0.1:1/v1', '--prices', '2'], /--prices needs what .*, not "2"/u],
      [['--change', 'top_k=5', '--prices', '2,8'], /--prices needs a server: MODEL@ADDRESS in --change or --with/u],
      [['--change', 'endpoint=team'], /--change endpoint needs MODEL@ADDRESS/u],
    ] as const) {
      assert.match(errorOf(await c3(workspace, ['try', ...args])), words);
    }
  });
});
