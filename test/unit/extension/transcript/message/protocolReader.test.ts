import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { toProtocolGraph, loadProtocolReader } from '../../../../../src/extension/transcript/message/protocolReader.ts';
import {
  findNode,
  placeNodes,
  findMessageRound,
  listSeenByVoters,
} from '../../../../../src/shared/transcript/protocolGraph.ts';
import { parseProtocol } from '../../../../../src/team/parseProtocol.ts';
import { PARALLEL, TWICE } from '../../../replay/helpers.ts';

const example = (name: string): ReturnType<typeof toProtocolGraph> => {
  const path = join(import.meta.dirname, '../../../../../media/examples', `${name}.json`);
  return toProtocolGraph(parseProtocol(readFileSync(path, 'utf8'), path));
};
const columns = (graph: ReturnType<typeof toProtocolGraph>): string[] =>
  placeNodes(graph).map(({ id, column }) => `${id} ${column}`);

describe('the picture of a protocol', () => {
  it('is that of all its messages where it has no rounds', () => {
    const graph = toProtocolGraph(PARALLEL);
    assert.equal(graph.rounds, undefined);
    assert.deepEqual(columns(graph), ['planner 0', 'left 1', 'right 1', 'integrator 2']);
    assert.equal(findNode(toProtocolGraph(TWICE), 'writer', 1)?.id, 'writer#2');
    assert.equal(findMessageRound(graph, 'left', 0), null);
  });

  it('is one round with its environments, and says how rounds come', () => {
    const loop = example('feedback');
    assert.deepEqual(columns(loop), ['reasoner 0', 'actor 1', 'feedback 2']);
    assert.match(
      loop.rounds?.words ?? '',
      /^Up to 3 rounds, until the reward of a round is 1, each sees the last round only/,
    );
    assert.equal(findNode(loop, 'actor', 2)?.id, 'actor');
    assert.deepEqual(
      [findMessageRound(loop, 'actor', 0), findMessageRound(loop, 'actor', 2), findMessageRound(loop, 'nobody', 0)],
      [1, 3, null],
    );
  });

  it('draws a tool between the roles that it is between, and a vote after all voters', () => {
    assert.deepEqual(columns(example('calculator')), ['reasoner 0', 'calculator 1', 'actor 2']);
    const voters = placeNodes(example('voters')).at(-1);
    assert.deepEqual(
      [voters?.id, voters?.environment, voters?.scored, voters?.parents.length],
      ['vote', true, true, 4],
    );
  });

  it('says whom each voter sees, of a team that speaks once and then votes', () => {
    const seen = (graph: ReturnType<typeof toProtocolGraph>): unknown =>
      Object.fromEntries([...(listSeenByVoters(graph) ?? [])].map(([role, roles]) => [role, [...roles]]));
    assert.deepEqual(seen(example('three-voters')), { voter1: [], voter2: [], voter3: [] });
    const voters = example('voters');
    assert.deepEqual(seen(voters), {
      planner: [],
      voter1: ['planner'],
      voter2: ['planner'],
      voter3: ['planner'],
      voter4: ['planner'],
    });
    // A second round sees the first one, and a role that speaks twice sees itself.
    const { rounds, nodes } = voters;
    assert.ok(rounds !== undefined);
    assert.equal(listSeenByVoters({ ...voters, rounds: { ...rounds, once: false } }), null);
    assert.equal(listSeenByVoters({ ...voters, nodes: nodes.map((node) => ({ ...node, role: 'voter1' })) }), null);
    assert.equal(listSeenByVoters(example('feedback')), null);
    assert.equal(listSeenByVoters(toProtocolGraph(PARALLEL)), null);
  });

  it('has no order, and no rounds to count, where each message chooses the next speaker', () => {
    for (const [order, words] of [
      ['chosen', 'each message chooses the next speaker'],
      ['drawn', 'each speaker is drawn'],
    ] as const) {
      const graph = toProtocolGraph(
        parseProtocol(
          JSON.stringify({
            name: 'talk',
            roles: ['chair', 'expert'].map((role) => ({ role, prompt: 'Talk.' })),
            rounds: { order, closing: 'last', max_events: 8 },
          }),
          'talk.json',
        ),
      );
      assert.deepEqual(columns(graph), ['chair 0', 'expert 0', 'last 1']);
      assert.equal(graph.rounds?.words, `Up to 7 messages, ${words}`);
      assert.equal(findMessageRound(graph, 'expert', 3), null);
    }
  });

  it('has the turns and the discount that the run gave its rounds', async () => {
    const read = await loadProtocolReader();
    const wordsOf = (magrpo?: object): string | undefined => {
      const protocolText = JSON.stringify({
        name: 'sides',
        roles: ['left', 'right'].map((role) => ({ role, prompt: 'Talk.', with_answer: true })),
        rounds: { turns: 1 },
      });
      const config = { method: 'magrpo', ...(magrpo && { magrpo }) };
      return read({ runConfig: () => JSON.stringify({ config, protocolText }) }, 'run')?.rounds?.words;
    };
    assert.equal(wordsOf({ num_turns: 3 }), 'Up to 3 rounds, discount 0.9');
    assert.equal(wordsOf({ discount: 1 }), '1 round');
    assert.equal(wordsOf(), '1 round');
  });
});
