import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EnvironmentEvent } from '../../../../../src/domain/episode.ts';
import type { Message } from '../../../../../src/domain/message.ts';
import { readShownEvents, type EventReader } from '../../../../../src/extension/transcript/message/messageDetail.ts';

const event = (more: Partial<EnvironmentEvent> = {}): EnvironmentEvent => ({
  kind: 'environment',
  source: 'feedback',
  text: 'x'.repeat(50),
  json: null,
  done: null,
  derived: true,
  streamKey: '',
  closing: false,
  ...more,
});

it('events have the round of the message that they follow, and are cut where they are previewed', () => {
  const graph = {
    name: 'loop',
    nodes: ['planner', 'solver'].map((role) => ({ id: role, role, turn: 0, parents: [], scored: false })),
    rounds: { words: '', numbered: true, once: false, environments: [] },
  };
  const messages = [
    { id: 1, role: 'planner', turn: 0, parent: null },
    { id: 2, role: 'solver', turn: 0, parent: 1 },
    { id: 3, role: 'planner', turn: 1, parent: 2 },
  ];
  const reader: EventReader = {
    message: (id) => (messages.find((one) => one.id === id) ?? assert.fail()) as Message,
    environmentEvents: (id, side) =>
      id === 3
        ? [
            {
              id: 7,
              sha256: '',
              event: side === 'before' ? event() : event({ source: 'vote', closing: true, reward: 1 }),
            },
          ]
        : [],
  };
  const { before, after } = readShownEvents(reader, graph, 3, 10);
  assert.deepEqual(
    [before, after].map(([one]) => [one?.source, one?.round, one?.text.length, one?.closing, one?.reward]),
    [
      ['feedback', 1, 10, false, null],
      ['vote', 2, 10, true, 1],
    ],
  );
  assert.deepEqual(readShownEvents(reader, graph, 2, 10), { before: [], after: [] });
  assert.equal(readShownEvents(reader, null, 3, 10).before[0]?.round, null);
});
