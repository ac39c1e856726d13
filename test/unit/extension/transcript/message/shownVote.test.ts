import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { EnvironmentEvent } from '../../../../../src/domain/episode.ts';
import type { Message } from '../../../../../src/domain/message.ts';
import type { Problem } from '../../../../../src/domain/problem.ts';
import {
  KnownVotes,
  readShownVote,
  addVotes,
  type VoteReader,
} from '../../../../../src/extension/transcript/message/shownVote.ts';
import type { MarkedRow } from '../../../../../src/shared/protocols/transcriptProtocol.ts';
import { configSchema } from '../../../../../src/training/config/config.ts';

const PROTOCOL = readFileSync(join(import.meta.dirname, '../../../../../media/examples/three-voters.json'), 'utf8');
const RECIPE = {
  config: configSchema.parse({ method: 'ccpo', protocol: 'three-voters.json' }),
  protocolText: PROTOCOL,
};
const INSTANCE: Problem = { uid: 'sum', uidSha: 'ab', question: '6 + 7', answer: '13', source: 'test', level: 1 };
const TEXTS = ['#### 13', 'so\n#### 13.0', '#### 14'];

/** A store with one episode, whose messages have the ids 1 to 3, each below the one before it. */
function storeOf(more: { readonly recipe?: unknown; readonly source?: string; readonly twice?: boolean }): VoteReader {
  const messages = TEXTS.map((text, index) => {
    const message: Partial<Message> = {
      id: index + 1,
      run: 'run',
      phase: 'train',
      iteration: 1,
      problem: 'ab',
      role: `voter${index + 1}`,
      position: index,
      text,
      parent: index === 0 ? null : index,
    };
    return message as Message;
  });
  const vote: EnvironmentEvent = {
    kind: 'environment',
    source: more.source ?? 'vote',
    text: '#### 13',
    json: null,
    done: null,
    derived: true,
    streamKey: '0'.repeat(32),
    closing: true,
    reward: 1,
  };
  return {
    chain: (id) => messages.slice(0, id),
    children: (id) => {
      const [child] = messages.slice(id, id + 1);
      // A replay's message is of another phase, and no part of the episode.
      const replayed = child === undefined ? [] : [{ ...child, id: 9, phase: 'replay' as Message['phase'] }];
      return child === undefined ? [] : [child, ...replayed, ...(more.twice === true ? [{ ...child, id: 8 }] : [])];
    },
    environmentEvents: (id, side) => (id === 3 && side === 'after' ? [{ id: 1, sha256: '', event: vote }] : []),
    problem: () => INSTANCE,
    runConfig: () => JSON.stringify(more.recipe ?? RECIPE),
  };
}

describe('the rows of a transcript', () => {
  const rowOf = (message: number | null): MarkedRow => ({
    index: message ?? 0,
    depth: 1,
    parent: 0,
    descendants: 0,
    message,
    key: message,
    lane: null,
    role: 'voter',
    turn: 0,
    position: 1,
    siblings: 1,
    text: '',
    finish: 'end',
    return: 1,
    leaves: 1,
    credit: null,
    branch: false,
    match: true,
    outcome: 'won',
    events: null,
    verification: null,
    other: null,
  });

  it('say of each voter what it did to the vote, which is counted once', async () => {
    const known = new KnownVotes();
    let counted = 0;
    const store = storeOf({});
    const reader: VoteReader = {
      ...store,
      runConfig: (run) => {
        counted += 1;
        return store.runConfig(run);
      },
    };
    const rows = [null, 1, 2, 3].map(rowOf);
    const voted = await addVotes(reader, rows, known);
    assert.deepEqual(
      voted.map(({ vote }) => vote && [vote.answer, vote.chosen, vote.pivotal, vote.contribution]),
      [undefined, ['13', true, true, 0.5], ['13.0', true, true, 0.5], ['14', false, false, 0]],
    );
    assert.deepEqual(await addVotes(reader, rows, known), voted);
    assert.equal(counted, 1);
    assert.equal('vote' in (voted[0] ?? {}), false);
  });

  it('say nothing where no vote ended the episode, and of the lane of a message', async () => {
    const [row] = await addVotes(storeOf({ source: 'join' }), [rowOf(1)], new KnownVotes());
    assert.deepEqual(row, rowOf(1));
    const lane = { ...rowOf(1), lane: { requests: 1, replays: 2 } };
    assert.deepEqual(await addVotes(storeOf({}), [lane], new KnownVotes()), [lane]);
  });
});

describe('the vote on the episode of a message', () => {
  it('is the same for each of its messages, with equal numbers as one answer', async () => {
    const votes = await Promise.all([1, 2, 3].map((id) => readShownVote(storeOf({}), id)));
    const [vote] = votes;
    assert.ok(vote !== null && vote !== undefined);
    assert.deepEqual(votes, [vote, vote, vote]);
    assert.deepEqual(
      vote.voters.map(({ message, role, answer, pivotal, contribution }) => [
        message,
        role,
        answer,
        pivotal,
        contribution,
      ]),
      [
        [1, 'voter1', '13', true, 0.5],
        [2, 'voter2', '13.0', true, 0.5],
        [3, 'voter3', '14', false, 0],
      ],
    );
    assert.deepEqual(
      vote.tally.map(({ votes: count, chosen }) => [count, chosen]),
      [
        [2, true],
        [1, false],
      ],
    );
  });

  it('is none where another event closed it, a message is of several episodes, or the recipe cannot be read', async () => {
    assert.equal(await readShownVote(storeOf({ source: 'join' }), 1), null);
    assert.equal(await readShownVote(storeOf({ twice: true }), 1), null);
    // Its last message is of one episode all the same.
    assert.notEqual(await readShownVote(storeOf({ twice: true }), 3), null);
    for (const recipe of [
      'imported',
      { config: null },
      { ...RECIPE, protocolText: '{' },
      { ...RECIPE, config: { evaluator: 'later' } },
    ]) {
      assert.equal(await readShownVote(storeOf({ recipe }), 3), null, JSON.stringify(recipe));
    }
  });
});
