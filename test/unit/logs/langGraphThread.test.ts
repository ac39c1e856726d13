/** The steps of a thread say all that was in its state, in as many words as were said. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Survey, type RecordedMessage } from '../../../src/logs/episode.ts';
import { threadEpisode } from '../../../src/logs/langGraph.ts';
import { readCheckpoint, type Checkpoint } from '../../../src/logs/langGraphState.ts';
import { ThreadSteps } from '../../../src/logs/langGraphThread.ts';

const said = (content: string): unknown => ({ role: 'assistant', content, id: content });

function checkpoint(messages: readonly unknown[], ran: number): Checkpoint {
  const value = { channel_values: { messages }, versions_seen: { node: { x: ran } } };
  const read = readCheckpoint('json', Buffer.from(JSON.stringify(value)));
  assert.ok(read !== null);
  return read;
}

function messagesOf(line: unknown): RecordedMessage[] {
  const episode = threadEpisode(JSON.parse(JSON.stringify(line)), 'x', new Survey());
  return [...(episode?.entries ?? [])].filter((entry) => entry.kind === 'message');
}

describe('the steps of a thread', () => {
  it('grow with what is said, whether all of it stays in the state or the oldest leaves it', () => {
    const COUNT = 1000;
    for (const kept of [COUNT, 100]) {
      const thread = new ThreadSteps();
      const all = Array.from({ length: COUNT }, (_, index) => said(`message ${index}`));
      for (let length = 1; length <= COUNT; length++) {
        thread.add(checkpoint(all.slice(Math.max(0, length - kept), length), length), () => []);
      }
      const line = JSON.stringify(thread.line('t'));
      assert.ok(line.length < 200 * COUNT, String(line.length));
      const contexts = messagesOf(thread.line('t')).map(({ context }) => context.length);
      assert.deepEqual(
        contexts,
        all.map((_, index) => Math.min(index, kept)),
      );
    }
  });

  it('give the state back, whatever is added, removed, said again or put in another order', () => {
    const states = fc.array(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 6 }), { maxLength: 6 });
    fc.assert(
      fc.property(states, (lists) => {
        const thread = new ThreadSteps();
        for (const [index, list] of lists.entries()) {
          const messages = list.map((content) => ({ role: 'user', content }));
          thread.add(checkpoint([...messages, said(`end ${index}`)], index), () => []);
          thread.add(checkpoint([...messages, said(`end ${index}`), said(`look ${index}`)], -index), () => []);
        }
        const looks = messagesOf(thread.line('t')).filter(({ text }) => text.startsWith('look'));
        assert.deepEqual(
          looks.map(({ context: { list, length } }) => list.slice(0, length).map(({ text }) => text)),
          lists.map((list, index) => [...list, `end ${index}`]),
        );
      }),
    );
  });

  it('are passed over where they are none: whoever wrote a line can write any', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(fc.integer(), fc.constantFrom('messages', 'a', ''), fc.constant(null), tie('list'), tie('object')),
      list: fc.array(tie('any'), { maxLength: 4 }),
      object: fc.dictionary(fc.constantFrom('lists', 'texts', 'nodes', 'given'), tie('any')),
    }));
    fc.assert(
      fc.property(value.any, value.list, (steps, list) => {
        const pool = [said('a'), ...list];
        messagesOf({ langgraph_thread: true, pool, steps });
        messagesOf({ langgraph_thread: true, pool, steps: [{ lists: list, nodes: steps }, steps] });
      }),
    );
    const [change] = [['messages', [-1, 0.5, 9, 'x'], [[7, 0, 3], [-1, 0, 0], [0, 99, 0], [0]]]];
    assert.deepEqual(
      messagesOf({ pool: [said('a')], steps: [{ lists: [change], nodes: [] }] }).map(({ speaker, text }) => [
        speaker,
        text,
      ]),
      [['assistant', 'a']],
    );
  });
});
