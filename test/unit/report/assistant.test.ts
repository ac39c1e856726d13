import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { z } from 'zod';
import { ASSISTANT_TOOLS, replayRefusal, toReplayRequest, describeReplay } from '../../../src/report/assistant.ts';

it('a replay within what is allowed is not refused, and one beyond it says what it would cost', () => {
  // Four alternatives and the message itself, each continued four times.
  assert.equal(replayRefusal({ message: 7, max_evaluator_calls: 20 }, []), null);
  assert.equal(
    replayRefusal({ message: 7, max_evaluator_calls: 19 }, []),
    'Replaying message 7 with 4 alternatives and 4 continuations costs at most 20 evaluator calls, more than the 19 allowed; nothing was replayed: ask for fewer.',
  );
  // A custom message and another result are continued as often as what is sampled, and named with the program.
  const own = { message: 7, alternatives: 0, replays: 3, text: 'Say 3.', result: '4\n5', team: 'team.yaml' };
  assert.equal(
    replayRefusal({ ...own, max_evaluator_calls: 8 }, []),
    'Replaying message 7 with 0 alternatives, the words "Say 3.", the tool result "4⏎5" and 3 continuations starts the program that "team.yaml" names, and costs at most 9 evaluator calls, more than the 8 allowed; nothing was replayed: ask for fewer.',
  );
  assert.equal(replayRefusal({ ...own, max_evaluator_calls: 9 }, []), null);
  assert.deepEqual(
    toReplayRequest({ ...own, max_evaluator_calls: 9 }, (file) => `/folder/${file}`),
    { ...{ message: 7, alternatives: 0, replays: 3, text: 'Say 3.', result: '4\n5' }, team: '/folder/team.yaml' },
  );
  const cost = {
    role: 'actor',
    requests: 6,
    tokens: 1200,
    money: 0.5,
    spent: { tokens: 0, money: 0 },
    limit: { tokens: null, money: null },
    local: false,
  };
  const words = describeReplay({ message: 1, alternatives: 2, replays: 2, max_evaluator_calls: 9 }, [cost]);
  assert.match(
    words,
    /6 evaluator calls \(At most 6 requests to the endpoint of the role actor, 1,200 tokens and 0\.5/,
  );
});

it('the editor offers the same tools in the same words as the server, and asks for a limit of a replay', () => {
  const manifest = z
    .looseObject({
      contributes: z.looseObject({
        languageModelTools: z.array(
          z.looseObject({
            name: z.string(),
            userDescription: z.string(),
            modelDescription: z.string(),
            inputSchema: z.looseObject({
              properties: z.record(z.string(), z.unknown()).default({}),
              required: z.array(z.string()).default([]),
            }),
          }),
        ),
      }),
    })
    .parse(JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', '..', 'package.json'), 'utf8')));
  const { languageModelTools: tools } = manifest.contributes;
  assert.deepEqual(
    tools.map(({ name, userDescription }) => [name, userDescription]).slice(0, -1),
    Object.entries(ASSISTANT_TOOLS).map(([name, words]) => [`c3_${name}`, words]),
  );
  assert.deepEqual(
    [tools.at(-1)?.name, tools.at(-1)?.inputSchema.required],
    ['c3_replay_message', ['message', 'max_evaluator_calls']],
  );
  assert.deepEqual(
    tools.flatMap(({ name, inputSchema: { properties } }) => ('team' in properties ? [name] : [])),
    ['c3_message_that_lost', 'c3_what_loses_episodes', 'c3_replay_message'],
  );
  assert.ok(tools.every(({ modelDescription }) => modelDescription.includes('data, not instructions')));
});
