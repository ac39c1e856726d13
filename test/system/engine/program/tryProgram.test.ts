/** `c3 try` of a recorded program: another prompt, model or version of it, in pairs of fresh episodes. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { RECORDED_ROUND } from '../../../../src/domain/evaluation.ts';
import { findBundledTeam } from '../../../../src/engine/places.ts';
import { c3, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';
import { badServer, type BadServer } from '../../../unit/policy/endpoint/badServer.ts';

const QUESTIONS = ['1+4?', '2+4?', '3+4?', '4+4?', '5+4?', '6+4?', '7+4?', '8+4?'];

/** Asks a planner and a solver. Without a question from outside it asks all, an episode each, as for a recording. */
const PROGRAM = `
const given = process.env.C3_QUESTION;
const base = process.env.OPENAI_BASE_URL;
for (const question of given === undefined ? ${JSON.stringify(QUESTIONS)} : [given]) {
  const say = async (role, system, content) => {
    const headers = { 'content-type': 'application/json', 'x-c3-role': role, 'x-c3-episode': question };
    const messages = [{ role: 'system', content: system }, { role: 'user', content }];
    const body = JSON.stringify({ model: 'm', messages });
    const answer = await fetch(base + '/chat/completions', { method: 'POST', headers, body });
    return (await answer.json()).choices[0].message.content;
  };
  const plan = await say('planner', 'Plan.', question);
  const text = await say('solver', 'Solve.', question + ' ' + plan);
  const [a, b] = question.match(/[0-9]+/g).map(Number);
  const body = JSON.stringify({ return: text === String(a + b) ? 1 : 0, episode: question });
  await fetch(process.env.C3_RECORD_SCORE, { method: 'POST', body });
}`;

/** The same program as a driver. Other versions replace a line. */
const DRIVER = `
const { createInterface } = require('node:readline');
const roles = ['planner', 'solver'];
const solving = 'Solve.';
const bodyOf = (question, said) => ({
  messages: [
    { role: 'system', content: said.length === 0 ? 'Plan.' : roles[said.length] === 'critic' ? 'Plan.' : solving },
    { role: 'user', content: said.length === 0 ? question : question + ' ' + said.at(-1).text },
  ],
});
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, question, log } = JSON.parse(line);
  const [a, b] = question.match(/[0-9]+/g).map(Number);
  const next = { kind: 'message', role: roles[log.length], body: bodyOf(question, log) };
  const text = log.at(-1)?.text;
  const end = { text, return: text === String(a + b) ? 1 : 0 };
  console.log(JSON.stringify(log.length === roles.length ? { id, end } : { id, next }));
});`;

/** A solver that is careful is right; another one is right where the first number is even. */
function answerOf(messages: readonly { readonly role: string; readonly content: string }[]): string {
  const [system, user] = messages;
  const [a = 0, b = 0] = (user?.content.match(/\d+/gu) ?? []).map(Number);
  return system?.content === 'Plan.'
    ? 'add'
    : String(system?.content === 'Solve carefully.' || a % 2 === 0 ? a + b : a);
}

let folder = '';
let server: BadServer;
let stop = (): void => undefined;

/** Writes a version of the driver, and a team file whose server answers for all roles. @returns the team file */
function writeTeam(name: string, [from, to]: readonly [string, string] = ['', ''], more: object = {}): string {
  assert.ok(DRIVER.includes(from));
  writeFileSync(join(folder, `${name}.cjs`), DRIVER.replace(from, to));
  const policy = { endpoint: server.base, model_name: 'm', retries: 0 };
  const driver = [process.execPath, `${name}.cjs`];
  writeFileSync(join(folder, `${name}.yaml`), JSON.stringify({ driver, policy, max_new_tokens: 8, ...more }));
  return `${name}.yaml`;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'c3-try-program-'));
  // The server lives as long as the tests of this file.
  const after = (end: () => void): void => {
    stop = end;
  };
  server = await badServer({ after }, () => (response, { body }) => {
    const messages = body['messages'] as Parameters<typeof answerOf>[0];
    const message = { role: 'assistant', content: answerOf(messages) };
    const usage = { prompt_tokens: 10, completion_tokens: 1 };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
  });
  writeFileSync(join(folder, 'team.mjs'), PROGRAM);
  writeTeam('team');
  const upstream = server.base;
  const recorded = await c3(folder, ['record', '--upstream', upstream, '--', process.execPath, 'team.mjs']);
  assert.equal(recorded.code, 0, recorded.stderr);
});
after(() => {
  stop();
  rmSync(folder, { recursive: true, force: true });
});

const tried = async (...args: readonly string[]): Promise<Record<string, unknown> & { readonly stderr: string }> => {
  const team = args.includes('--team') ? [] : ['--team', 'team.yaml'];
  const { code, stdout, stderr } = await c3(folder, ['try', ...team, '--json', ...args]);
  assert.equal(code, 0, stderr);
  return { ...parseLine(stdout), stderr };
};
/** Input is refused with 2, and a program that fails with 1. */
const refused = async (args: readonly string[], code: 1 | 2 = 2): Promise<string> => {
  const ended = await c3(folder, ['try', ...args]);
  assert.equal(ended.code, code, ended.stdout);
  return errorOf(ended);
};

describe('c3 try of a recorded program', () => {
  it('finds no difference in any pair for the same program, and shows the highest cost before', async () => {
    const { contexts, better, worse, same, masked, unseeded, stderr, costs } = await tried(
      ...['--change', `team=${writeTeam('same')}`, '--budget', '24'],
    );
    assert.deepEqual([contexts, better, worse, same, masked], [8, 0, 0, 12, 0]);
    // A server without seeds shares no random numbers, which is said.
    assert.deepEqual(unseeded, ['planner', 'solver']);
    assert.match(stderr, /At most [\d,]+ requests to the endpoint of the role planner/u);
    assert.deepEqual(costs, {
      before: { prompt: 240, completion: 24, money: null },
      after: { prompt: 240, completion: 24, money: null },
    });
    // Chat answers have no tokens, which is not the same as none.
    const shown = await c3(folder, ['try', '--team', 'team.yaml', '--change', 'team=same.yaml', '--budget', '4']);
    assert.match(shown.stdout, /^8 problems; mean return (\S+) without the change and \1 with it; \d+ s\.$/mu);
  });

  it('tries another system message of a role without a change of the program', async () => {
    writeFileSync(join(folder, 'careful.txt'), 'Solve carefully.\n');
    server.requests.length = 0;
    const { difference, better, worse, cases, sentence } = await tried('--change', 'solver.prompt=careful.txt');
    const { low } = difference as { low: number };
    assert.ok(low > 0 && worse === 0 && Number(better) > 0, String(sentence));
    const systems = server.requests.map(({ body }) => (body['messages'] as { content: string }[])[0]?.content);
    // A server is first asked what it can do.
    assert.deepEqual([...new Set(systems)].filter((system) => /^(?:Plan|Solve)/u.test(system ?? '')).sort(), [
      'Plan.',
      'Solve carefully.',
      'Solve.',
    ]);
    // It wins where the first number is odd: there the careless one is wrong.
    for (const { question, before: without, after: changed } of cases as {
      question: string;
      before: { return: number; messages: object[] };
      after: { return: number; messages: object[] };
    }[]) {
      const a = Number(question[0]);
      assert.deepEqual([a % 2, without.return, changed.return], [1, 0, 1]);
      assert.deepEqual(changed.messages, [
        { role: 'planner', text: 'add' },
        { role: 'solver', text: String(a + 4) },
      ]);
    }
  });

  it('tries another version of the program, which may have another role', async () => {
    const policies = { critic: { endpoint: server.base, model_name: 'm', retries: 0 } };
    writeTeam('checked', ["'planner', 'solver'", "'planner', 'critic', 'solver'"], { policies });
    const careful = ['--change', 'solver.prompt=careful.txt'];
    const found = await tried('--change', 'team=checked.yaml', ...careful, '--lost', '--budget', '40');
    const { difference, contexts, cases } = found;
    assert.deepEqual([contexts, (difference as { value: number }).value], [4, 1]);
    const [{ after: changed }] = cases as [{ after: { messages: { role: string }[] } }];
    assert.deepEqual(
      changed.messages.map(({ role }) => role),
      ['planner', 'critic', 'solver'],
    );
  });

  it('begins in the context of a message', async () => {
    const message = withStore(folder, (store) => {
      const run = store.runs(0, 1)[0]?.id ?? '';
      const [lost] = store
        .episodes({ run, phase: 'evaluate', iteration: RECORDED_ROUND.iteration, offset: 0, limit: 20 })
        .filter((one) => one.return === 0);
      return lost?.leaf ?? 0;
    });
    const found = await tried(String(message), '--change', 'solver.prompt=careful.txt', '--budget', '32');
    const { contexts, difference } = found;
    assert.deepEqual([contexts, found['message'], (difference as { value: number }).value], [1, message, 1]);
  });

  it('leaves out episodes whose program fails, and gives up one that always fails', async () => {
    writeTeam('fragile', [
      'const next =',
      `if (question === '8+4?' && log.length === 1) {
    console.log(JSON.stringify({ id, error: 'no twos' }));
    return;
  }
  const next =`,
    ]);
    const found = await tried('--change', 'team=fragile.yaml', '--budget', '48');
    assert.ok(Number(found['masked']) > 0 && found['worse'] === 0 && found['better'] === 0, String(found['sentence']));
    assert.equal(Number(found['masked']) + Number(found['same']), 24);
    assert.match(found.stderr, /An episode is left out: The driver .* does not go on: no twos\./u);
    writeTeam('broken', ['const roles', "throw new Error('no key'); const roles"]);
    assert.match(
      await refused(['--team', 'team.yaml', '--change', 'team=broken.yaml'], 1),
      /The driver .* does not go on: .*no key/u,
    );
  });

  it('leaves out episodes that nothing can score, and names the program', async () => {
    const unscored = (name: string, from: string): void => {
      writeFileSync(
        join(folder, `${name}.mjs`),
        PROGRAM.replace('const plan', `if (question > '${from}') process.exit(0); const plan`),
      );
      writeTeam(name, ['', ''], { driver: undefined, program: [process.execPath, `${name}.mjs`] });
    };
    unscored('some', '7+4?');
    const found = await tried('--change', 'team=some.yaml', '--budget', '32');
    assert.ok(Number(found['masked']) > 0 && found['worse'] === 0, String(found['sentence']));
    assert.equal(Number(found['masked']) + Number(found['same']), 16);
    assert.match(found.stderr, /left out: The log has no right answer to "8\+4\?"; .* C3_RECORD_SCORE at each start/u);
    unscored('silent', '');
    const sentence = await refused(['--team', 'team.yaml', '--change', 'team=silent.yaml']);
    assert.match(sentence, /The log has no right answer to "\d\+4\?"/u);
    writeFileSync(join(folder, 'ill.mjs'), "throw new Error('no key')");
    writeTeam('ill', ['', ''], { driver: undefined, program: ['node', 'ill.mjs'] });
    const ill = await refused(['--team', 'team.yaml', '--change', 'team=ill.yaml'], 1);
    assert.match(ill, /The program node ill\.mjs does not go on: .*no key/u);
  });

  it('never scores an episode of another question', async () => {
    const deaf = "const { id, log } = JSON.parse(line); const question = '8+4?'; const unused";
    writeTeam('deaf', ['const { id, question, log }', deaf]);
    const sentence = /does not begin with the question "[1-7]\+4\?", but with .*8\+4\?/u;
    assert.match(await refused(['--team', 'team.yaml', '--change', 'team=deaf.yaml'], 1), sentence);
    // As the recorded program it only has the episodes of this question.
    const { same, masked, stderr } = await tried('--team', 'deaf.yaml', '--change', 'top_p=1', '--budget', '64');
    assert.deepEqual([Number(same) > 0, Number(masked) > Number(same)], [true, true]);
    assert.match(stderr, sentence);
  });

  it('starts a program that has no driver with the question of each problem', async () => {
    writeTeam('asked', ['', ''], { driver: undefined, program: [process.execPath, 'team.mjs'] });
    const found = await tried('--team', 'asked.yaml', '--change', 'team=team.yaml', '--budget', '8');
    assert.deepEqual([found['same'], found['masked']], [4, 0]);
  });

  it('says what a recorded team cannot have', async () => {
    const change = ['--change', 'temperature=0.5'];
    assert.match(await refused(change), /was recorded elsewhere: only its program knows .* Give --team FILE/u);
    const named = ['--team', 'team.yaml', '--change'];
    assert.match(await refused([...named, 'snapshot=0']), /has no snapshots; try model= or endpoint=\./u);
    assert.match(await refused([...named, 'adapter=x']), /serves no model that an adapter could belong to/u);
    assert.match(await refused([...named, 'judge.prompt=careful.txt']), /no role 'judge'; it has planner, solver\./u);
    // One answer would score seven of eight questions wrongly.
    const answered = ['--team', writeTeam('answered', ['', ''], { answer: '5' })];
    assert.match(await refused([...answered, ...change]), /answered\.yaml has one answer, but run .* has 8 questions/u);
    assert.match(await refused([...named, 'team=none.yaml']), /none\.yaml/u);
    assert.match(await refused([...named, 'temperature=1', '--budget', '1']), /least|at least/u);
  });

  it('lets a model of this machine answer, on the same random numbers', async () => {
    writeTeam('here', ['', ''], { policy: undefined, serve: 'arithmetic', max_new_tokens: 4 });
    const solver = `solver.model=${findBundledTeam('arithmetic')}`;
    const same = await tried('--team', 'here.yaml', '--change', solver, '--budget', '8');
    assert.deepEqual([same['same'], same['unseeded']], [4, undefined]);
  });
});
