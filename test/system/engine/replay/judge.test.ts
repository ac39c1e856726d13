/** A model judge scores a run: measured before it, counted in its spending, and never a 0 where it states no score. */

import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { JUDGE_ROLE } from '../../../../src/shared/rolePolicies.ts';
import { c3, copyOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';
import { badServer, type Behaviour } from '../../../unit/policy/endpoint/badServer.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** Scores labels by a word in them, every third message of a team not at all, and the others alike. */
const judging = (): { readonly behave: Behaviour; readonly asked: () => number } => {
  let asked = 0;
  let messages = 0;
  return {
    asked: () => asked,
    behave: (response, { body }) => {
      asked++;
      const text = JSON.stringify(body['messages']);
      const isLabel = text.includes('label');
      const said = isLabel
        ? `Score: ${text.includes('good') ? '9' : '1'}`
        : text.includes('rubric') && messages++ % 3 === 0
          ? 'I cannot say.\nScore: high'
          : 'It is fine.\nScore: 8';
      const choices = [{ index: 0, message: { content: said }, finish_reason: 'stop' }];
      const usage = { prompt_tokens: 10, completion_tokens: 5 };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices, usage }));
    },
  };
};

it('is measured and said before its credits, is counted, and leaves out what it does not score', async (t) => {
  const folder = copyOf(t, workspace);
  const { behave, asked } = judging();
  const { base } = await badServer(t, () => behave);
  const path = join(folder, 'tiny.c3.yaml');
  writeFileSync(path, readFileSync(path, 'utf8').replace('steps: 2', 'steps: 0'));
  appendFileSync(
    path,
    `evaluator: judge\nscorer: {rubric: Is it right?, labels: labels.jsonl, judge: {endpoint: "${base}", model_name: m, retries: 0}}\n`,
  );
  const labels = ['good', 'good', 'bad', 'bad', 'bad'].map((word, index) =>
    JSON.stringify({ question: `label ${index}`, text: word, score: index === 4 ? 1 : word === 'good' ? 1 : 0 }),
  );
  writeFileSync(join(folder, 'labels.jsonl'), labels.join('\n'));

  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json']);
  assert.equal(made.code, 0, made.stderr);
  const measured = /second answer for 100 % \[57, 100\] of 5 messages .* your labels for 80 % \[38, 96\] of 5 messages/;
  assert.match(made.stderr, measured);
  const run = String(parseLine(made.stdout)['run']);
  const { returns, leaf, calls } = withStore(folder, (store) => {
    const episodes = store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 100 });
    return {
      returns: episodes.map((one) => one.return),
      leaf: episodes.find((one) => one.return !== null)?.leaf ?? 0,
      calls: store.spent(run, JUDGE_ROLE).calls,
    };
  });
  assert.ok(returns.includes(null) && returns.includes(0.8) && !returns.includes(0), JSON.stringify(returns));
  assert.equal(calls, asked());

  const replayed = await c3(folder, ['replay', String(leaf), '--alternatives', '2', '--json']);
  assert.equal(replayed.code, 0, replayed.stderr);
  assert.match(replayed.stderr, measured);
  // Three messages are scored, once it is known what the server can do: its seeds are tried beside 32 other requests.
  assert.match(replayed.stderr, /At most 51 requests to the endpoint of the role model judge/);
  const verified = parseLine((await c3(folder, ['verify', '--json'])).stdout);
  assert.deepEqual([verified['different'], verified['notComparable']], [0, verified['checked']]);
  assert.match(String(verified['firstReason']), /A model judge scored it, which need not say the same again/);
  const plan = await c3(folder, ['plan', 'tiny.c3.yaml']);
  assert.match(plan.stdout, /requests to the endpoint of the role model judge/);
});
