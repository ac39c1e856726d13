import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SaidEvent, EnvironmentEvent, LogEvent } from '../../../src/domain/episode.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import {
  countMostMessages,
  messagesPerTurn,
  discountFactor,
  highestReturn,
  nextStep,
  listMessagesRead,
  solvedReturn,
  listVisibleEvents,
  type Step,
} from '../../../src/team/rounds.ts';
import { errorOfKind } from '../replay/helpers.ts';

const ROLES = [
  { role: 'planner', prompt: 'Plan.' },
  { role: 'left', prompt: 'Solve.', depends_on: ['planner'] },
  { role: 'right', prompt: 'Solve.', depends_on: ['planner'], with_answer: true },
];
const ALONE = ROLES.map(({ role, prompt }, index) => ({ role, prompt, with_answer: index === 2 }));
const UNSCORED = ALONE.map(({ role, prompt }) => ({ role, prompt }));

const team = (rounds: unknown, roles: unknown = ROLES): Protocol =>
  parseProtocol(JSON.stringify({ name: 'team', roles, rounds }), 'team.json');

const said = (protocol: Protocol, position: number, text = 'x', reward?: number | null): SaidEvent => ({
  kind: 'decision',
  position,
  role: protocol.occurrences[position]?.role ?? '',
  text,
  ...(reward !== undefined && { reward }),
});

const heard = (source: string, more: Partial<EnvironmentEvent> = {}): EnvironmentEvent => ({
  kind: 'environment',
  source,
  text: `from ${source}`,
  json: null,
  done: null,
  derived: true,
  streamKey: '',
  closing: false,
  ...more,
});

/** What comes next, in a few words. */
function word(protocol: Protocol, log: readonly LogEvent[], uniform = 0): string {
  const step: Step = nextStep(protocol, log, () => uniform);
  switch (step.kind) {
    case 'messages':
      return step.positions.join(' and ');
    case 'environment':
      return `${step.closing === null ? '' : 'closing '}${step.call.name}`;
    default:
      return step.reason;
  }
}

/** Lets an episode unfold with fixed texts. */
function unfold(protocol: Protocol, text = 'x', reward?: number): string[] {
  const log: LogEvent[] = [];
  const words: string[] = [];
  for (;;) {
    const step = nextStep(protocol, log, () => 0.99);
    words.push(word(protocol, log, 0.99));
    if (step.kind === 'end') {
      return words;
    }
    if (step.kind === 'environment') {
      log.push(heard(step.call.name, { closing: step.closing !== null }));
    } else {
      const [position = 0] = step.positions;
      const scored = protocol.occurrences[position]?.scored === true;
      log.push(said(protocol, position, text, scored ? reward : undefined));
    }
    assert.ok(log.length <= 600, 'it never ends');
  }
}

describe('an episode in rounds', () => {
  it('asks together for those who do not see each other, and then for the next round', () => {
    const protocol = team({ turns: 2, environment: 'feedback' });
    assert.equal(word(protocol, []), '0');
    assert.equal(word(protocol, [said(protocol, 0)]), '1 and 2');
    assert.deepEqual(unfold(protocol, 'x', 0), [
      '0',
      '1 and 2',
      '2',
      'feedback',
      '3',
      '4 and 5',
      '5',
      'all 2 rounds are over',
    ]);
  });

  it('takes turns in the order of the file, reversed, or drawn for each round', () => {
    const order = (name: string, uniform: number): string => word(team({ turns: 1, order: name }, ALONE), [], uniform);
    assert.deepEqual([order('fixed', 0.99), order('random', 0.99), order('random', 0)], ['0', '2', '0']);
    const reversed = team({ turns: 1, order: 'reverse', environment: { name: 'feedback', after: 'left' } }, ALONE);
    assert.deepEqual(
      reversed.occurrences.map(({ role }) => role),
      ['right', 'left', 'planner'],
    );
    assert.deepEqual(unfold(reversed), ['0', '1', 'feedback', '2', 'its only round is over']);
  });

  it('ends after the round whose reward reaches until, and never where a score is masked', () => {
    const protocol = team({ turns: 3, until: 1 });
    const round = (reward: number | null): LogEvent[] => [
      said(protocol, 0),
      said(protocol, 1),
      said(protocol, 2, 'x', reward),
    ];
    assert.equal(word(protocol, round(1)), 'the round has a reward of at least 1');
    assert.equal(word(protocol, round(0)), '3');
    assert.equal(word(protocol, round(null)), '3');
  });

  it('lets an environment end it, and closes it all the same', () => {
    const protocol = team({ turns: 3, environment: 'calculator', closing: 'last' });
    const round = [said(protocol, 0), said(protocol, 1), said(protocol, 2)];
    const asked = [...round, heard('calculator', { done: 'nothing was asked' })];
    assert.equal(word(protocol, asked), 'closing last');
    assert.equal(word(protocol, [...asked, heard('last', { closing: true })]), 'it is closed');
  });

  it('lets the last message choose the speaker out of the roles, and ends where it names nobody else', () => {
    const protocol = team({ order: 'chosen', turns: 4, closing: 'last' }, UNSCORED);
    const reply = (text: string): string => word(protocol, [said(protocol, 0, text)]);
    const position = (role: string, turn: number): string =>
      String(protocol.occurrences.find((one) => one.role === role && one.turn === turn)?.position);
    assert.equal(reply('Next: Right.'), position('right', 0));
    assert.equal(reply('next: planner'), position('planner', 1));
    assert.equal(reply('next: left\nnext: right'), position('right', 0));
    for (const text of ['nothing', 'next: nobody', 'next: __proto__', 'next:', `next: ${'x'.repeat(5000)}`]) {
      assert.equal(reply(text), 'closing last');
    }
  });

  it('draws each speaker from all roles, whoever spoke before', () => {
    const protocol = team({ order: 'drawn', turns: 20, closing: 'last' }, UNSCORED);
    const roles = protocol.roles.map(({ name }) => name);
    // TeamTR reference, section 14: what the published router of three agents selects with the seed 42.
    const published = [2, 0, 0, 2, 1, 0, 0, 0, 2, 0, 2, 2, 2, 0, 2, 1, 0, 0, 0, 0];
    const log: LogEvent[] = [];
    for (const role of published) {
      for (const uniform of [role / 3 + 1e-9, (role + 1) / 3 - 1e-9]) {
        const position = Number(word(protocol, log, uniform));
        const occurrence = protocol.occurrences[position];
        assert.equal(occurrence?.role, roles[role]);
        assert.equal(
          occurrence?.turn,
          log.filter((event) => event.kind === 'decision' && event.role === roles[role]).length,
        );
      }
      log.push(said(protocol, Number(word(protocol, log, role / 3 + 1e-9))));
    }
    assert.equal(word(protocol, log, 0.5), 'closing last');
    // Each sees all before, and a message is a turn of its own.
    assert.equal(listVisibleEvents(protocol, 59, log).length, 20);
    assert.deepEqual([messagesPerTurn(protocol), countMostMessages(protocol)], [1, 20]);
    // Beside it the published round robin.
    const robin = team({ turns: 2, order: 'fixed' }, ALONE);
    assert.deepEqual(
      robin.occurrences.slice(0, 4).map(({ role }) => role),
      [0, 1, 2, 0].map((role) => robin.roles[role]?.name),
    );
  });

  it('always ends, whatever is said', () => {
    for (const order of ['by_role', 'fixed', 'reverse', 'random', 'drawn', 'chosen']) {
      const isOpen = order === 'drawn' || order === 'chosen';
      const roles = order === 'by_role' ? ROLES : isOpen ? UNSCORED : ALONE;
      const turns = isOpen ? {} : { turns: 20 };
      const protocol = team({ ...turns, order, environment: 'feedback', closing: 'last', max_events: 90 }, roles);
      for (const text of ['x', 'next: planner', 'next: left']) {
        const words = unfold(protocol, text, 0);
        assert.ok(words.length <= 91 * 2, `${order}: ${words.length}`);
      }
    }
  });
});

describe('what an event of an episode in rounds sees', () => {
  const log = (protocol: Protocol): LogEvent[] => [
    said(protocol, 0, 'plan 1'),
    said(protocol, 1, 'left 1'),
    said(protocol, 2, 'right 1'),
    heard('feedback'),
    said(protocol, 3, 'plan 2'),
    said(protocol, 4, 'left 2'),
    said(protocol, 5, 'right 2'),
    heard('feedback'),
    said(protocol, 6, 'plan 3'),
  ];
  const texts = (protocol: Protocol, position: number): string[] =>
    listVisibleEvents(protocol, position, log(protocol)).map(({ text }) => text);

  it('is all that came before, or the last round alone', () => {
    const full = team({ turns: 3, environment: 'feedback' });
    const last = team({ turns: 3, environment: 'feedback', memory: 'last' });
    assert.equal(texts(full, 7).length, 9);
    assert.deepEqual(texts(last, 7), ['plan 2', 'left 2', 'right 2', 'from feedback', 'plan 3']);
  });

  it('leaves out parallel messages of the same round', () => {
    const protocol = team({ turns: 1 });
    const seen = listVisibleEvents(protocol, 2, [said(protocol, 0, 'plan'), said(protocol, 1, 'left')]);
    assert.deepEqual(
      seen.map(({ text }) => text),
      ['plan'],
    );
  });

  it('for an environment is the newest round, or one role in it', () => {
    const protocol = team({ turns: 3 });
    const read = (of: string | null): string[] =>
      listMessagesRead(protocol, { name: 'feedback', options: {}, of }, log(protocol).slice(0, 7)).map(
        ({ text }) => text,
      );
    assert.deepEqual([read(null), read('left')], [['plan 2', 'left 2', 'right 2'], ['left 2']]);
  });

  it('counts less the later its round is', () => {
    const protocol = team({ turns: 3, discount: 0.5 });
    assert.deepEqual(
      [0, 2, 3, 8].map((index) => discountFactor(protocol, index)),
      [1, 1, 0.5, 0.25],
    );
    assert.deepEqual([highestReturn(protocol, true), highestReturn(team({ turns: 1 }), true)], [1.75, 1]);
    // What is right in the first round has more than what is right in the last.
    const early = team({ turns: 3, discount: 0.5, until: 1 });
    assert.deepEqual([highestReturn(early, true), highestReturn(early, false)], [1, 1.75]);
    assert.equal(solvedReturn(protocol), 1.75);
    assert.equal(solvedReturn(team({ turns: 3, discount: 0.5, until: 1 })), 0.25);
  });
});

describe('the key rounds', () => {
  const refused = (rounds: unknown, pattern: RegExp, roles: unknown = ROLES): void =>
    assert.throws(() => team(rounds, roles), errorOfKind('input', pattern));

  it('refuses what never ends, and what does not fit, in one sentence', () => {
    refused({}, /rounds\.turns: must be a whole number from 1 to 64/);
    refused({ turns: 1e9 }, /rounds\.turns: must be a whole number/);
    refused({ turns: 64 }, /192 events, more than max_events \(64\)/);
    refused({ turns: 1, max_events: 2 }, /one round has 3 events; raise it/);
    refused({ turns: 1, max_events: 1e6 }, /max_events: must be a whole number from 1 to 512/);
  });

  it('takes 16 environments and no more', () => {
    const environments = (count: number): Protocol =>
      team({ turns: 1, environment: Array.from({ length: count }, () => 'feedback') });
    assert.equal(environments(16).rounds?.between.length, 16);
    assert.throws(() => environments(17), /has 17 environments; at most 16 are possible\./u);
  });

  it('names a wrong environment, order, turn and role with the nearest right one', () => {
    refused({ turns: 1, environment: 'feedbak' }, /no environment is called 'feedbak'.*feedback/);
    refused({ turns: 1, environment: { after: 'left' } }, /names no environment/);
    refused({ turns: 1, order: 'chaos' }, /order: must be one of by_role, fixed, reverse, random, drawn, chosen/);
    refused({ turns: 1, environment: { name: 'feedback', after: 'lift' } }, /no turn is called 'lift'.*left/);
    refused({ turns: 1, environment: { name: 'vote', of: 'nobody' } }, /no role is called 'nobody'/);
    refused({ turns: 1, environment: { name: 'vote', ties: 'coin' } }, /ties: must be one of first, expected/);
    refused({ turns: 1, code: 'eval' }, /code/);
  });

  it('refuses combinations that have no meaning', () => {
    refused({ turns: 2, order: 'fixed' }, /'depends_on' orders the roles too/);
    refused({ turns: 2, until: 1, closing: 'last' }, /until: needs scored messages/, UNSCORED);
    refused({ order: 'chosen' }, /score with 'closing: last'/, UNSCORED);
    refused({ order: 'drawn' }, /score with 'closing: last'/, UNSCORED);
    refused({ turns: 2, discount: 2 }, /discount: must be a number above 0 and at most 1/);
    refused({ turns: 2, environment: 'vote' }, /a role is called 'vote' too/, [{ role: 'vote', prompt: 'Vote.' }]);
  });
});
