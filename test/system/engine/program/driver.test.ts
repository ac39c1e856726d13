/** Drivers as the engine meets them: processes of the user's, good and bad ones. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { LogEvent } from '../../../../src/domain/episode.ts';
import { PROGRAM_DRIVER } from '../../../../src/engine/places.ts';
import { DrivenProgram } from '../../../../src/engine/program/drivenProgram.ts';
import { DriverProcess } from '../../../../src/engine/program/driverProcess.ts';
import { readTeam } from '../../../../src/engine/program/teamFile.ts';
import type { ProgramStep } from '../../../../src/replay/program.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';

const PROGRAMS = join(import.meta.dirname, '../../../programs');
const INSTANCE = { uid: 'x', uidSha: 'x', question: '12+7?', answer: '', source: 'imported', level: null };

function started(t: TestContext, command: readonly [string, ...string[]], timeLimit = 60_000): DriverProcess {
  const name = `driver ${command.join(' ')}`;
  const driver = new DriverProcess({ name, command, folder: tmpdir(), timeLimit });
  t.after(() => driver.close());
  return driver;
}
const driverOf = (t: TestContext, args: readonly string[], timeLimit?: number): DriverProcess =>
  started(t, [process.execPath, ...args], timeLimit);
/** A machine without Python runs the tests of the driver for Node alone. */
const hasPython = (): boolean => spawnSync('python3', ['--version']).status === 0;
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    assert.ok(tries < 1200, 'it does not come to that');
    await setTimeout(50);
  }
}
const said = (role: string, text: string): LogEvent => ({ kind: 'decision', position: 0, role, text });
const given = (source: string, text: string): LogEvent => ({
  kind: 'environment',
  source,
  text,
  json: null,
  done: null,
  derived: false,
  streamKey: '',
  closing: false,
});
/** A driver that does something with each line that it reads. */
const reading = (act: string): readonly string[] => [
  '-e',
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => { const { id } = JSON.parse(line); ${act} });`,
];

/** The same program behind the drivers of both languages. */
const DRIVERS: readonly (readonly [language: string, command: readonly [string, string]])[] = [
  ['Node', [process.execPath, join(PROGRAMS, 'callsDriver.mjs')]],
  ...(hasPython() ? [['Python', ['python3', join(PROGRAMS, 'callsDriver.py')]] as const] : []),
];

for (const [language, command] of DRIVERS) {
  describe(`the driver that comes with the product, for ${language}`, () => {
    it('says what a program asks next, runs a tool only beyond the log, and gives its end', async (t) => {
      const program = new DrivenProgram(started(t, command));
      const next = (...log: readonly LogEvent[]): Promise<ProgramStep> => program.next(INSTANCE, log, NEVER);
      const call = said('planner', 'sum [12,7]');
      const result = given('sum', '19 (run 1)');
      const context = '### user\n12+7?';
      assert.deepEqual(await next(), { kind: 'message', role: 'planner', context });
      assert.deepEqual(await next(call), { kind: 'event', source: 'sum', text: '19 (run 1)' });
      const after = `${context}\n\n### assistant\nsum [12,7]\n\n### tool sum\n19 (run 1)`;
      // It has the result from the log: the tool would say that it is its second run.
      assert.deepEqual(await next(call, result), { kind: 'message', role: 'planner', context: after });
      const writing = { kind: 'message', role: 'agent 2', context: '### system\nWrite.\n\n### user\nIt is 19.' };
      const thought = said('planner', 'It is 19.');
      assert.deepEqual(await next(call, result, thought), { ...writing, role: 'agent 1' });
      const written = said('agent 1', 'So: 19');
      assert.deepEqual(await next(call, result, thought, written), { kind: 'end', text: 'So: 19', reward: 1 });
      // The server gets the program's own messages, with the call and the tools.
      assert.deepEqual(JSON.parse(program.bodyOf(after)), {
        messages: [
          { role: 'user', content: '12+7?' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'call_0_0', index: 0, type: 'function', function: { name: 'sum', arguments: '[12,7]' } },
            ],
          },
          { role: 'tool', tool_call_id: 'call_0_0', content: '19 (run 1)' },
        ],
        tools: [{ type: 'function', function: { name: 'sum', parameters: {} } }],
      });
    });

    it('answers many logs at once, each by itself', async (t) => {
      const program = new DrivenProgram(started(t, command));
      const steps = await Promise.all(
        Array.from({ length: 40 }, (_, index) => program.next(INSTANCE, [said('planner', `plan ${index}`)], NEVER)),
      );
      assert.deepEqual(
        steps.map((step) => (step.kind === 'message' ? step.context : step.kind)),
        steps.map((_, index) => `### system\nWrite.\n\n### user\nplan ${index}`),
      );
    });

    it('blocks with a sentence what it does not know the source of', async (t) => {
      const program = new DrivenProgram(started(t, command));
      await assert.rejects(program.next(INSTANCE, [said('judge', 'No.')], NEVER), {
        kind: 'engine',
        message: /does not go on: the program asks planner, where the log has a message of judge\.$/u,
      });
      const beyond = [said('planner', 'a'), said('agent 1', 'b'), said('planner', 'c')];
      await assert.rejects(program.next(INSTANCE, beyond, NEVER), {
        message: /the program ends, where the log has a message of planner\.$/u,
      });
      await assert.rejects(program.next(INSTANCE, [said('planner', 'sum no JSON')], NEVER), {
        message: /the program failed: ./u,
      });
    });
  });
}

if (hasPython()) {
  it('drives asynchronous programs and tools of Python, and stops one that ends its process', async (t) => {
    const folder = JSON.stringify(join(import.meta.dirname, '../../../../media/drivers'));
    const text = `
import asyncio, json, os, sys, urllib.request
sys.path.insert(0, ${folder})
from driver import drive, wrapped

def ask(role, content):
    body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"x-c3-role": role})
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())["choices"][0]["message"]["content"]

async def note(text):
    return {"noted": text}

noted = wrapped("note", note)

async def program(question):
    said = await asyncio.to_thread(ask, "planner", question)
    if said == "leave":
        sys.exit("no more")
    return {"text": json.dumps(await noted(said))}

drive(program)`;
    const program = new DrivenProgram(started(t, ['python3', '-c', text]));
    const next = (...log: readonly LogEvent[]): Promise<ProgramStep> => program.next(INSTANCE, log, NEVER);
    const plan = said('planner', 'add');
    assert.deepEqual(await next(), { kind: 'message', role: 'planner', context: '### user\n12+7?' });
    assert.deepEqual(await next(plan), { kind: 'event', source: 'note', text: '{"noted": "add"}' });
    const end = await next(plan, given('note', 'by hand'));
    assert.deepEqual(end, { kind: 'end', text: '"by hand"', reward: null });
    await assert.rejects(next(said('planner', 'leave')), { message: /the program failed: no more\.$/u });
    // The driver goes on with other logs.
    assert.deepEqual(await next(plan), { kind: 'event', source: 'note', text: '{"noted": "add"}' });
  });
}

describe('a program that has no driver', () => {
  const ASKING = `
    if (process.env.STARTS) (await import('node:fs')).appendFileSync(process.env.STARTS, process.pid + '\\n');
    const say = async (role, content) => {
      const body = JSON.stringify({ messages: [{ role: 'user', content }] });
      const answer = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers: { 'x-c3-role': role }, body });
      if (!answer.ok) throw new Error('refused');
      const { id, choices } = await answer.json();
      return [id, choices[0].message.content];
    };
    const [first, plan] = await say('planner', '12+7?');
    const [second, text] = await say('writer', 'Write: ' + plan);
    if (first === second) throw new Error('two messages of one id');
    if (text === 'fail') { console.error('out of luck'); process.exit(4); }
    if (text === 'scored') await fetch(process.env.C3_RECORD_SCORE, { method: 'POST', body: '{"return": 0.5}' });
    console.log('what it prints goes nowhere');`;
  const programOf = (t: TestContext): DrivenProgram =>
    new DrivenProgram(driverOf(t, [PROGRAM_DRIVER, process.execPath, '--input-type=module', '-e', ASKING]));

  it('says what the program asks next, and ends with what was said last or its own score', async (t) => {
    const program = programOf(t);
    const next = (...log: readonly LogEvent[]): Promise<ProgramStep> => program.next(INSTANCE, log, NEVER);
    const [plan, other] = [said('planner', '19'), said('planner', '20')];
    // All at once: each is answered by its own log.
    assert.deepEqual(
      await Promise.all([
        next(),
        next(plan),
        next(other),
        next(plan, said('writer', 'It is 19.')),
        next(plan, said('writer', 'scored')),
      ]),
      [
        { kind: 'message', role: 'planner', context: '### user\n12+7?' },
        { kind: 'message', role: 'writer', context: '### user\nWrite: 19' },
        { kind: 'message', role: 'writer', context: '### user\nWrite: 20' },
        { kind: 'end', text: 'It is 19.', reward: null },
        { kind: 'end', text: 'scored', reward: 0.5 },
      ],
    );
  });

  /** The program, with where each of its starts writes the number of its process. */
  function counted(
    t: TestContext,
    options: readonly string[] = [],
  ): { readonly driver: DriverProcess; readonly started: () => number[] } {
    const folder = mkdtempSync(join(tmpdir(), 'c3-starts-'));
    process.env['STARTS'] = join(folder, 'starts');
    t.after(() => {
      delete process.env['STARTS'];
      rmSync(folder, { recursive: true, force: true });
    });
    return {
      driver: driverOf(t, [...options, PROGRAM_DRIVER, process.execPath, '--input-type=module', '-e', ASKING]),
      started: () => readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n').map(Number),
    };
  }
  const stepsOf =
    (driver: DriverProcess) =>
    async (...log: readonly LogEvent[]): Promise<string> => {
      const step = await new DrivenProgram(driver).next(INSTANCE, log, NEVER);
      return step.kind === 'message' ? step.context : step.kind === 'end' ? step.text : step.kind;
    };
  const TEXT = said('writer', 'It is 19.');

  it('is held at a call until it is known what was said there, and started again for something else', async (t) => {
    const { driver, started } = counted(t);
    const next = stepsOf(driver);
    const [plan, other] = [said('planner', '19'), said('planner', '20')];
    // One start for a whole episode.
    assert.deepEqual(
      [await next(), await next(plan), await next(plan, TEXT)],
      ['### user\n12+7?', '### user\nWrite: 19', 'It is 19.'],
    );
    assert.equal(started().length, 1);
    // What is said in another place than the one where it is held starts it again, and leaves it held for the others.
    assert.deepEqual([await next(plan), await next(other)], ['### user\nWrite: 19', '### user\nWrite: 20']);
    assert.equal(started().length, 3);
    await Promise.all([next(other, TEXT), next(plan, TEXT), next(plan, TEXT)]);
    assert.equal(started().length, 4);
    // One that is held does not outlive the driver.
    await next(plan);
    const held = started().at(-1) ?? 0;
    assert.ok(isAlive(held));
    driver.close();
    await until(() => !isAlive(held));
  });

  it('is ended where the memory has no room for another one that is held, and started again', async (t) => {
    const most = 2;
    // The machine that runs the test may have room for many: a process for each would take all of its time.
    const memory = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module';
      os.totalmem = () => ${most * 16 * 2 ** 27}; syncBuiltinESMExports();`;
    const { driver, started } = counted(t, ['--import', `data:text/javascript,${encodeURIComponent(memory)}`]);
    const next = stepsOf(driver);
    const plans = Array.from({ length: most + 3 }, (_, index) => said('planner', String(index)));
    const asked = await Promise.all(plans.map((plan) => next(plan)));
    assert.deepEqual(
      asked,
      plans.map((_, index) => `### user\nWrite: ${index}`),
    );
    await until(() => started().filter(isAlive).length === most);
    const ends = await Promise.all(plans.map((plan) => next(plan, TEXT)));
    assert.deepEqual(new Set(ends), new Set(['It is 19.']));
    assert.equal(started().length, plans.length + 3);
  });

  it('that asks two models at once is not held at one of them', async (t) => {
    const BOTH = ASKING.replace(
      "await say('planner', '12+7?')",
      "(await Promise.all([say('planner', '12+7?'), say('critic', '12+7?')]))[0]",
    );
    const program = new DrivenProgram(
      driverOf(t, [PROGRAM_DRIVER, process.execPath, '--input-type=module', '-e', BOTH]),
    );
    const next = async (...log: readonly LogEvent[]): Promise<string> => {
      const step = await program.next(INSTANCE, log, NEVER);
      return step.kind === 'message' ? step.role : step.kind;
    };
    const [plan, critique] = [said('planner', '19'), said('critic', 'No.')];
    assert.deepEqual([await next(plan), await next(plan, critique)], ['critic', 'writer']);
    assert.equal(await next(plan, critique, said('writer', 'It is 19.')), 'end');
  });

  it('blocks with a sentence where it asks with no JSON', async (t) => {
    const garbled = ASKING.replace('const body = JSON.stringify(', 'const body = String(');
    const driver = driverOf(t, [PROGRAM_DRIVER, process.execPath, '--input-type=module', '-e', garbled]);
    await assert.rejects(new DrivenProgram(driver).next(INSTANCE, [], NEVER), {
      message: /the program asks with something that is no JSON\.$/u,
    });
  });

  it('hears that a request is too long or asks at no address of its own, and may leave one half said', async (t) => {
    const before = `
      const status = async (url, megabytes) => (await fetch(url, { method: 'POST', body: Buffer.alloc(megabytes * 2 ** 20) })).status;
      const base = process.env.OPENAI_BASE_URL;
      const statuses = [await status(new URL(base).origin + '/other/v1/x', 9), await status(base + '/chat/completions', 65)];
      if (statuses.join() !== '404,413') throw new Error(statuses.join());
      const { request } = await import('node:http');
      const half = request(base + '/chat/completions', { method: 'POST', headers: { expect: '100-continue', 'content-length': 9 } });
      half.flushHeaders();
      half.on('error', () => undefined);
      await new Promise((resolve) => half.once('continue', resolve));
      half.destroy();`;
    const driver = driverOf(t, [PROGRAM_DRIVER, process.execPath, '--input-type=module', '-e', before + ASKING]);
    const next = (...log: readonly LogEvent[]): Promise<ProgramStep> =>
      new DrivenProgram(driver).next(INSTANCE, log, NEVER);
    assert.equal((await next()).kind, 'message');
    assert.equal((await next(said('planner', '19'))).kind, 'message');
  });

  it('blocks with a sentence where it fails, or goes another way than was recorded', async (t) => {
    const program = programOf(t);
    const next = (...log: readonly LogEvent[]): Promise<ProgramStep> => program.next(INSTANCE, log, NEVER);
    await assert.rejects(next(said('planner', '19'), said('writer', 'fail')), {
      message: /the program failed: it ended with 4, and said: out of luck\.$/u,
    });
    await assert.rejects(next(said('judge', 'No.')), {
      message: /the program asks planner, where the log has a message of judge\.$/u,
    });
  });
});

describe('a driver', () => {
  const asked = (driver: DriverProcess): Promise<unknown> => new DrivenProgram(driver).next(INSTANCE, [], NEVER);
  const bad: readonly (readonly [what: string, args: readonly string[], expected: RegExp])[] = [
    ['that is not there', ['/no/such/driver.mjs'], /it ended with exit code 1; it said: .*no\/such\/driver/u],
    [
      'that dies',
      reading('console.error("out of luck"); process.exit(4);'),
      /it ended with exit code 4; it said: out of luck\.$/u,
    ],
    ['that prints', reading('console.log("hello");'), /it wrote "hello" instead of a line of JSON with an id/u],
    [
      'of another form',
      reading('console.log(JSON.stringify({ id, next: { kind: "thought" } }));'),
      /an answer of another form/u,
    ],
    [
      'that scores beyond bounds',
      reading('console.log(JSON.stringify({ id, end: { text: "", return: 1e9 } }));'),
      /another form/u,
    ],
  ];
  for (const [what, args, expected] of bad) {
    it(`${what} ends the replay in plain words`, async (t) =>
      await assert.rejects(asked(driverOf(t, args)), { kind: 'engine', message: expected }));
  }

  it('that hangs is ended, and a cancel does not wait for it', async (t) => {
    await assert.rejects(asked(driverOf(t, reading(''), 200)), { message: /no answer within 0\.2 s \(time_limit\)/u });
    const cancel = new AbortController();
    const waiting = new DrivenProgram(driverOf(t, reading(''))).next(INSTANCE, [], cancel.signal);
    cancel.abort();
    await assert.rejects(waiting, CancelledError);
  });

  it('has no key of a model server', async (t) => {
    process.env['C3_KEY_EXAMPLE_COM'] = 'secret';
    t.after(() => {
      delete process.env['C3_KEY_EXAMPLE_COM'];
    });
    const step = await asked(
      driverOf(
        t,
        reading('console.log(JSON.stringify({ id, end: { text: String(process.env.C3_KEY_EXAMPLE_COM) } }));'),
      ),
    );
    assert.deepEqual(step, { kind: 'end', text: 'undefined', reward: null });
  });
});

describe('a team file', () => {
  const team = async (t: TestContext, text: string): Promise<ReturnType<typeof readTeam>> => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-team-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'team.yaml');
    writeFileSync(path, text);
    return readTeam(path);
  };

  it('names a policy for all roles, and others for some', async (t) => {
    const { policyOf, next, timeLimit } = await team(
      t,
      'driver: [node, d.mjs]\npolicy: {endpoint: "http://a/v1", model_name: m}\npolicies: {judge: {endpoint: "http://b/v1", model_name: n}}\n',
    );
    const named = ['judge', 'planner'].map((role) => policyOf(role));
    assert.deepEqual(
      named.map((one) => (one?.kind === 'endpoint' ? one.model_name : null)),
      ['n', 'm'],
    );
    const chat = await team(t, 'driver: [node]\npolicy: {vscode: {family: f}}\n');
    assert.equal(chat.policyOf('planner')?.kind, 'vscode');
    assert.deepEqual(
      [next, timeLimit],
      [{ kind: 'driver', name: 'driver node d.mjs', command: ['node', 'd.mjs'] }, 60_000],
    );
  });

  it('names a program that is started again, and a model that is served here', async (t) => {
    const { policyOf, next, timeLimit, serve } = await team(
      t,
      'program: [node, team.mjs]\nserve: arithmetic\npolicies: {judge: {endpoint: "http://b/v1", model_name: n}}\n',
    );
    const command = [process.execPath, PROGRAM_DRIVER, 'node', 'team.mjs'];
    assert.deepEqual(next, { kind: 'driver', name: 'program node team.mjs', command });
    const judge = policyOf('judge');
    assert.deepEqual([serve, timeLimit], ['arithmetic', 600_000]);
    assert.ok(judge?.kind === 'endpoint' && judge.model_name === 'n');
    assert.equal(policyOf('planner'), undefined);
    await assert.rejects(team(t, 'program: [node]\ndriver: [node]\n'), { message: /needs a driver, or a program/u });
    await assert.rejects(team(t, 'program: [a]\nserve: b\npolicy: {endpoint: "http://a/v1", model_name: m}\n'), {
      message: /team\.yaml, line 2: serve: names a model for all roles, as policy does/u,
    });
  });

  it('that is wrong is refused with its line and key', async (t) => {
    await assert.rejects(team(t, 'driver: [node]\npolicy:\n  answers: [{answer: x}]\n'), {
      message: /team\.yaml, line 2: policy: must be an endpoint/u,
    });
    await assert.rejects(team(t, 'driver: node d.mjs\n'), {
      message: /team\.yaml, line 1: driver: must be a list, such as \[node, team\.mjs\]\.$/u,
    });
    await assert.rejects(team(t, 'driver: [node]\nserv: x\n'), {
      message: /team\.yaml, line 2: serv: unknown key; did you mean 'serve'\?$/u,
    });
  });
});
