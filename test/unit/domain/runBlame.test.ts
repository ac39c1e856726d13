import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  describeReadEpisodes,
  isRunBlame,
  listCaseSentences,
  READ_TOGETHER,
  writeBlameSentence,
  writeRunBlameSentence,
  type RunBlame,
} from '../../../src/domain/answer.ts';

const interval = (value: number, low: number | null, high: number | null) => ({ value, low, high, n: 10 });
const FOUND: RunBlame = {
  run: 'run',
  lost: 221,
  tooLong: 0,
  read: 221,
  masked: 0,
  withinReach: interval(94.2, 80, 108),
  roles: [
    { role: 'plan', share: interval(0.58, 0.49, 0.66), episodes: 3 },
    { role: 'answer', share: interval(0.42, 0.34, 0.51), episodes: 1 },
  ],
  divisions: [],
  decided: 4,
  several: 1,
  undecided: 200,
  rarelySolved: 16,
  cases: [],
  evaluatorCalls: 6400,
  seconds: 40.2,
  sentence: '',
};

it('the answer about a run says what was within reach, and who lost which share of it', () => {
  assert.equal(
    writeRunBlameSentence(FOUND),
    'Of 221 lost episodes 94 [80, 108] were within reach. The plan lost 58 % [49, 66] of that, the answer 42 % [34, 51]. 6,400 calls, 40 s.',
  );
  const [plan] = FOUND.roles;
  assert.ok(plan !== undefined);
  const check = { role: 'check', share: interval(-0.2, -0.3, -0.1), episodes: 0 };
  assert.match(
    writeRunBlameSentence({ ...FOUND, read: 60, roles: [plan, check] }),
    /within reach, by a random 60 of them\. The plan lost 58 % \[49, 66\] of that\. The check won some back \(-20 % \[-30, -10\]\)\. 6,400 calls/u,
  );
});

it('the sentences of cases that were decided together do not each repeat it', () => {
  const write = (...sentences: readonly string[]): ReturnType<typeof listCaseSentences> =>
    listCaseSentences(
      sentences.map((sentence, episode) => ({
        episode,
        verdict: 'message',
        message: episode,
        role: 'plan',
        drop: -0.69,
        start: null,
        question: 'How many?',
        sentence,
      })),
    );
  const both = { together: true, sentences: ['The plan lost it.', 'The answer lost it.'] };
  assert.deepEqual(write(`The plan lost it.${READ_TOGETHER}`, `The answer lost it.${READ_TOGETHER}`), both);
  const one = ['The plan lost it.', `The answer lost it.${READ_TOGETHER}`];
  assert.deepEqual(write(...one), { together: false, sentences: one });
  assert.deepEqual(write(), { together: false, sentences: [] });
});

it('what cannot be divided is not divided, and what could not be scored is counted', () => {
  const none = { ...FOUND, lost: 1, read: 1, withinReach: interval(0, 0, 0.8), roles: [], evaluatorCalls: 1 };
  assert.match(
    writeRunBlameSentence(none),
    /^Of 1 lost episode 0 \[0, 1\] were within reach: the team rarely .* 1 call, 40 s/u,
  );
  // Nothing is known yet.
  assert.match(
    writeRunBlameSentence({ ...none, rarelySolved: 0 }),
    /^Of 1 lost episode 0 \[0, 1\] were within reach: a larger budget must say why\./u,
  );
  assert.match(
    writeRunBlameSentence({ ...FOUND, roles: [] }),
    /; more episodes must be read to say which role lost them\./u,
  );
  assert.equal(writeRunBlameSentence({ ...FOUND, lost: 0 }), 'No episode of the last evaluation was lost.');
  assert.match(describeReadEpisodes({ ...FOUND, masked: 2 }), /200 undecided; 2 more could not be scored\.$/u);
  assert.doesNotMatch(describeReadEpisodes(FOUND), /could not be scored/u);
});

it('episodes that returned more than the team does on average are counted, and are not called rarely solved', () => {
  const none = { ...FOUND, lost: 15, read: 15, withinReach: interval(0, 0, 0), roles: [], decided: 0, several: 0 };
  const better = { ...none, rarelySolved: 2, nothingLost: 9, undecided: 4 };
  assert.equal(
    writeRunBlameSentence(better),
    'Of 15 lost episodes 0 [0, 0] were within reach: they returned as much as the team does on average, ' +
      'or more. 6,400 calls, 40 s.',
  );
  assert.equal(
    describeReadEpisodes(better),
    'Of 15 episodes that were read: 0 lost by one message, 0 by several together, ' +
      '2 rarely solved by this team, 9 better than the team on average, 4 undecided.',
  );
  const point = { value: 1.2, low: 0.8, high: 1.6, n: 20, message: null, role: null, drop: null };
  const found = { verdict: 'won', message: null, messages: [], more: null, most: 2, evaluatorCalls: 40 } as const;
  const curve = [point, { ...point, value: 1.8, low: 1.8, high: 1.8, n: 0, message: 4, role: 'main' }];
  assert.equal(
    writeBlameSentence({ ...found, episode: 4, curve }),
    'The episode returned 90 %, more than the team does on average (60 % [40, 80]): no message lost it. 40 calls.',
  );
  assert.equal(
    writeBlameSentence({ ...found, episode: 4, curve: [{ ...point, n: 0 }] }),
    'The episode was not lost: choose a message of one that was.',
  );
});

it('what is too long to be searched is counted beside the rest', () => {
  assert.match(
    writeRunBlameSentence({ ...FOUND, tooLong: 2 }),
    /^2 lost episodes have too many messages to be searched\. Of 221 lost episodes 94/u,
  );
  assert.equal(
    writeRunBlameSentence({ ...FOUND, lost: 0, tooLong: 1 }),
    '1 lost episode has too many messages to be searched. No other episode of the last evaluation was lost.',
  );
});

it('an answer that was kept elsewhere is taken whole or not at all', () => {
  assert.equal(isRunBlame(JSON.parse(JSON.stringify(FOUND))), true);
  const { divisions: _, ...early } = FOUND;
  assert.equal(isRunBlame(early), true, 'one that was kept before losses were divided further');
  for (const wrong of [
    null,
    { ...FOUND, masked: '0' },
    { ...FOUND, roles: [{ role: 1 }] },
    { ...FOUND, cases: [null] },
    { ...FOUND, divisions: [{ by: 'weather', parts: [] }] },
    { ...FOUND, divisions: [{ by: 'level', parts: [{ name: 1 }] }] },
  ]) {
    assert.equal(isRunBlame(wrong), false);
  }
});
