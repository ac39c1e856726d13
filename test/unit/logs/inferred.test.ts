/** The protocol of an episode as its log shows it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChatMessage } from '../../../src/chat/messages.ts';
import { readContextText, contextText } from '../../../src/logs/contextForm.ts';
import { inferSteps, seenMessages, unseenSteps, type EpisodeEntry } from '../../../src/logs/inferred.ts';

const chat = (role: ChatMessage['role'], text: string, name: string | null = null): ChatMessage => ({
  role,
  name,
  text,
});
const said = (role: string, text: string, ...context: readonly ChatMessage[]): EpisodeEntry => ({
  kind: 'message',
  role,
  context: contextText(context),
  text,
});
const QUESTION = 'How many toys are 12 and 7?';
const CALL = 'sum [12,7]';
/** A planner with a tool, and a writer that sees what the planner said within other words. */
const EPISODE: readonly EpisodeEntry[] = [
  said('planner', CALL, chat('system', 'Plan.'), chat('user', QUESTION)),
  { kind: 'event', source: 'sum', text: '19' },
  said(
    'planner',
    'The sum is 19 toys.',
    chat('system', 'Plan.'),
    chat('user', QUESTION),
    chat('assistant', CALL),
    chat('tool', '19', 'sum'),
  ),
  said('writer', '#### 19', chat('user', `Problem: ${QUESTION}\n\nPlan:\nThe sum is 19 toys.`)),
  { kind: 'event', source: 'after', text: 'of no effect' },
];

describe('the protocol of a log', () => {
  it('is who spoke next, and what each saw of what was said', () => {
    assert.deepEqual(inferSteps(QUESTION, EPISODE), [
      {
        role: 'planner',
        sees: [
          { as: 'system', text: ['Plan.'] },
          { as: 'user', text: [{ of: 'question' }] },
        ],
      },
      { event: 'sum' },
      {
        role: 'planner',
        sees: [
          { as: 'system', text: ['Plan.'] },
          { as: 'user', text: [{ of: 'question' }] },
          { as: 'assistant', text: [{ of: 1 }] },
          { as: 'tool', name: 'sum', text: [{ of: 2 }] },
        ],
      },
      { role: 'writer', sees: [{ as: 'user', text: ['Problem: ', { of: 'question' }, '\n\nPlan:\n', { of: 3 }] }] },
    ]);
  });

  it('gives every recorded context again, and another one where something else was said', () => {
    const steps = inferSteps(QUESTION, EPISODE) ?? [];
    const texts = EPISODE.map(({ text }) => text);
    for (const [index, entry] of EPISODE.entries()) {
      const step = steps[index];
      if (entry.kind === 'message' && step !== undefined && 'sees' in step) {
        assert.equal(contextText(seenMessages(step.sees, QUESTION, texts.slice(0, index))), entry.context);
      }
    }
    const last = steps.at(-1);
    assert.ok(last !== undefined && 'sees' in last);
    assert.deepEqual(seenMessages(last.sees, 'Why?', [CALL, '20', 'No idea.']), [
      chat('user', 'Problem: Why?\n\nPlan:\nNo idea.'),
    ]);
  });

  it('takes a short text for what was said only where it is a whole line, and no part of a word', () => {
    const two = (text: string, context: string): unknown =>
      inferSteps('Q', [said('a', text, chat('user', 'Go.')), said('b', 'x', chat('user', context))])?.[1];
    assert.deepEqual(two('7', 'Add 7 to\n7'), { role: 'b', sees: [{ as: 'user', text: ['Add 7 to\n', { of: 1 }] }] });
    const long = 'the longer text';
    assert.deepEqual(two(long, `Is ${long}s or ${long}?`), {
      role: 'b',
      sees: [{ as: 'user', text: [`Is ${long}s or `, { of: 1 }, '?'] }],
    });
  });

  it('says which steps nobody sees, and is none where a context was not recorded as a whole', () => {
    const [first, second] = [
      said('a', 'What I thought of it.', chat('user', 'Go.')),
      said('b', 'x', chat('user', 'Go.')),
    ];
    assert.deepEqual(unseenSteps(inferSteps('Q', [first, second]) ?? []), [1]);
    const cut = {
      kind: 'message' as const,
      role: 'c',
      text: 'y',
      context: '### left out\n3 earlier messages\n\n### user\nGo.',
    };
    assert.equal(inferSteps('Q', [first, cut]), null);
  });
});

describe('the text of a context', () => {
  it('is read back as it was written, headings within texts too', () => {
    const messages = [
      chat('system', '### user\n\\### tool\nnot a heading: ### x'),
      chat('assistant', '', 'planner two'),
      chat('user', 'a\n\n\n### b\n'),
    ];
    assert.deepEqual(readContextText(contextText(messages)), messages);
    assert.equal(readContextText('no heading'), null);
  });
});
