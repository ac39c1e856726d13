import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EnvironmentEvent, LogEvent } from '../../../src/domain/episode.ts';
import { MEMORY_MODES, writeTurnMessages, type History, type OwnTurn } from '../../../src/team/history.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlainMessages, toPromptMessages, renderLog } from '../../../src/team/render.ts';

const OPENING = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Problem:\nAdd.' },
] as const;
const TURNS: readonly OwnTurn[] = [
  { prompt: 'Be brief.\n\nProblem:\nAdd.', response: 'Sure! def f(): 1', extracted: 'def f(): 1' },
  { prompt: 'Wrong, revise.', response: 'Hm, def f(): 2', extracted: 'def f(): 2' },
];
const shown = (history: History, turns: readonly OwnTurn[], asked = 'Still wrong.'): string =>
  renderPlainMessages(
    writeTurnMessages(history, { opening: OPENING, turns, asked, writes: 'aux implementation' }),
  ).trim();

const ORIGINAL = 'Original problem and instructions:\nBe brief.\n\nProblem:\nAdd.';

describe('turnMessages', () => {
  it('last: the first instruction and the newest function', () => {
    const last = (prompts: boolean, responses: boolean): string => shown({ memory: 'last', prompts, responses }, TURNS);
    const newest = 'Your last aux implementation:\ndef f(): 2';
    assert.equal(last(true, true), `${ORIGINAL}\n\n${newest}\n\nStill wrong.`);
    assert.equal(last(true, false), `${ORIGINAL}\n\nStill wrong.`);
    assert.equal(last(false, true), `${newest}\n\nStill wrong.`);
    assert.equal(last(false, false), 'Still wrong.');
    const nothing = [{ ...TURNS[0], prompt: 'P', response: 'no code', extracted: null }];
    assert.equal(
      shown({ memory: 'last', prompts: false, responses: true }, nothing),
      'Your last aux implementation:\n(No implementation was found in it.)\n\nStill wrong.',
    );
  });

  it('full: every prompt and every response, numbered', () => {
    const full = (prompts: boolean, responses: boolean): string => shown({ memory: 'full', prompts, responses }, TURNS);
    const asked = 'Your earlier prompts:\n\nTurn 1:\nBe brief.\n\nProblem:\nAdd.\n\nTurn 2:\nWrong, revise.';
    const said = 'Your earlier aux implementations:\n\nTurn 1:\nSure! def f(): 1\n\nTurn 2:\nHm, def f(): 2';
    assert.equal(full(true, true), `${asked}\n\n${said}\n\nStill wrong.`);
    assert.equal(full(true, false), `${asked}\n\nStill wrong.`);
    assert.equal(full(false, true), `${said}\n\nStill wrong.`);
    assert.equal(full(false, false), 'Still wrong.');
  });

  it('full renders like last with exactly one earlier turn', () => {
    for (const prompts of [true, false]) {
      for (const responses of [true, false]) {
        const one = TURNS.slice(0, 1);
        assert.equal(
          shown({ memory: 'full', prompts, responses }, one),
          shown({ memory: 'last', prompts, responses }, one),
        );
        if (prompts || responses) {
          const [full, last] = [
            shown({ memory: 'full', prompts, responses }, TURNS),
            shown({ memory: 'last', prompts, responses }, TURNS),
          ];
          assert.notEqual(full, last);
        }
      }
    }
  });

  it('memoryful: the own conversation, whatever the flags say', () => {
    for (const prompts of [true, false]) {
      for (const responses of [true, false]) {
        const messages = writeTurnMessages(
          { memory: 'memoryful', prompts, responses },
          { opening: OPENING, turns: TURNS, asked: 'Still wrong.', writes: 'response' },
        );
        assert.deepEqual(messages, [
          ...OPENING,
          { role: 'assistant', content: 'Sure! def f(): 1' },
          { role: 'user', content: 'Wrong, revise.' },
          { role: 'assistant', content: 'Hm, def f(): 2' },
          { role: 'user', content: 'Still wrong.' },
        ]);
      }
    }
  });
});

function teamWith(history: History, roles = ['aux', 'main']): Protocol {
  const protocol = parseProtocol(
    JSON.stringify({
      name: 'pair',
      roles: roles.map((role) => ({ role, prompt: `You write ${role}.`, with_answer: role === roles.at(-1) })),
      rounds: { turns: 3, environment: 'feedback' },
    }),
    'pair.json',
  );
  assert.ok(protocol.rounds !== undefined);
  return { ...protocol, rounds: { ...protocol.rounds, history } };
}

const says = (position: number, role: string, text: string): LogEvent => ({ kind: 'decision', position, role, text });
const asks = (
  prompts: Readonly<Record<string, string>>,
  extracted: Readonly<Record<string, string | null>>,
): LogEvent =>
  ({
    kind: 'environment',
    source: 'level_feedback',
    text: 'for people',
    json: { prompts, extracted },
    done: null,
    derived: true,
    streamKey: '',
    closing: false,
  }) satisfies EnvironmentEvent;

const LOG: readonly LogEvent[] = [
  says(0, 'aux', 'aux one'),
  says(1, 'main', 'main one'),
  asks({ aux: 'aux, revise', main: 'main, revise' }, { aux: 'AUX1', main: null }),
  says(2, 'aux', 'aux two'),
  says(3, 'main', 'main two'),
  asks({ aux: 'aux, again', main: 'main, again' }, { aux: 'AUX2', main: 'MAIN2' }),
];

describe('renderLog with a history', () => {
  const read = (history: History, position: number, length: number): string =>
    renderPlainMessages(
      toPromptMessages(renderLog(teamWith(history), position, 'Add two.', LOG.slice(0, length))),
    ).trim();

  it('renders a first turn as ever', () => {
    for (const memory of MEMORY_MODES) {
      assert.equal(read({ memory, prompts: true, responses: true }, 0, 0), 'You write aux.\n\nProblem:\nAdd two.');
    }
  });

  it('passes the prompt of the environment through as it is', () => {
    for (const memory of ['last', 'full'] as const) {
      assert.equal(read({ memory, prompts: false, responses: false }, 2, 3), 'aux, revise');
      assert.equal(read({ memory, prompts: false, responses: false }, 5, 6), 'main, again');
    }
  });

  it("shows a role its own turns and never another's", () => {
    const both = { prompts: true, responses: true };
    assert.equal(
      read({ memory: 'last', ...both }, 4, 6),
      'Original problem and instructions:\nYou write aux.\n\nProblem:\nAdd two.\n\nYour last aux implementation:\nAUX2\n\naux, again',
    );
    assert.equal(
      read({ memory: 'last', ...both }, 3, 3),
      'Original problem and instructions:\nYou write main.\n\nProblem:\nAdd two.\n\nYour last main implementation:\n(No implementation was found in it.)\n\nmain, revise',
    );
    assert.equal(
      read({ memory: 'full', ...both }, 4, 6),
      'Your earlier prompts:\n\nTurn 1:\nYou write aux.\n\nProblem:\nAdd two.\n\nTurn 2:\naux, revise\n\nYour earlier aux implementations:\n\nTurn 1:\naux one\n\nTurn 2:\naux two\n\naux, again',
    );
    assert.equal(
      read({ memory: 'memoryful', prompts: false, responses: false }, 5, 6),
      'You write main.\n\nProblem:\nAdd two.\n\nmain one\n\nmain, revise\n\nmain two\n\nmain, again',
    );
  });

  it('continues in the bytes that it began with, so that its beginning need not be computed again', () => {
    const memoryful: History = { memory: 'memoryful', prompts: false, responses: false };
    const begun = read(memoryful, 2, 3);
    assert.ok(read(memoryful, 4, 6).startsWith(begun));
    assert.ok(begun.startsWith(read(memoryful, 0, 0)));
  });

  it('names no part where a role is alone', () => {
    const single = teamWith({ memory: 'last', prompts: false, responses: true }, ['coder']);
    const log = [says(0, 'coder', 'one'), asks({ coder: 'revise' }, { coder: 'ONE' })];
    assert.equal(
      renderPlainMessages(toPromptMessages(renderLog(single, 1, 'Add.', log))).trim(),
      'Your last response:\nONE\n\nrevise',
    );
  });

  it('reads the text of an event that has none for each role, and the whole answer where nothing was taken out of it', () => {
    const team = teamWith({ memory: 'last', prompts: false, responses: true });
    const event = { ...(asks({}, {}) as EnvironmentEvent), json: null, text: 'Wrong, try again.' };
    const log = [says(0, 'aux', 'a'), says(1, 'main', 'm'), event];
    assert.equal(
      renderPlainMessages(toPromptMessages(renderLog(team, 3, 'Add.', log))).trim(),
      'Your last main implementation:\nm\n\nWrong, try again.',
    );
  });

  it('puts what was said in the same round behind it', () => {
    const sequential = parseProtocol(
      JSON.stringify({
        name: 'line',
        roles: [
          { role: 'aux', prompt: 'A' },
          { role: 'main', prompt: 'M {aux}', depends_on: ['aux'], with_answer: true },
        ],
        rounds: { turns: 2, environment: 'feedback' },
      }),
      'line.json',
    );
    assert.ok(sequential.rounds !== undefined);
    const history: History = { memory: 'last', prompts: false, responses: false };
    const team = { ...sequential, rounds: { ...sequential.rounds, history } };
    const log = [...LOG.slice(0, 3), says(2, 'aux', 'aux two')];
    assert.equal(
      renderPlainMessages(toPromptMessages(renderLog(team, 3, 'Add.', log))).trim(),
      'main, revise\n\naux two',
    );
  });
});
