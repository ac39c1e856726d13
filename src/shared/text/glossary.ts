/** What the words of the panels mean. Made from docstrings by test/support/glossary.ts: change them there. */

export const GLOSSARY = {
  problem: { name: 'problem', meaning: 'One item of a task: a question, and what scores the answers to it.' },
  episode: { name: 'episode', meaning: 'The messages of a team on one problem, from its question to a return.' },
  message: {
    name: 'message',
    meaning: 'The text that a role said in a context. Messages are the actions of a team, and get credit.',
  },
  role: { name: 'role', meaning: 'A speaker of the team, with a prompt of its own.' },
  context: {
    name: 'context',
    meaning: 'The exact text that a model read before it said a message. A replay begins from the same bytes.',
  },
  return: {
    name: 'return',
    meaning:
      'The score by the evaluator at the end of the episode, usually 0 or 1. For a message with several ' +
      'episodes below it, their mean.',
  },
  alternative: {
    name: 'alternative',
    meaning: 'A message that was sampled, or typed, in the same context as another one.',
  },
  replay: {
    name: 'replay',
    meaning: 'The episode continued from a message to its end in exactly the same context, and its return.',
  },
  bucket: {
    name: 'bucket',
    meaning:
      'One context with the messages that were sampled in it and their replays. A run samples some; every ' +
      'replay request makes one more.',
  },
  credit: {
    name: 'credit',
    meaning:
      'How much better episodes end with this message than with the other messages sampled in the same ' +
      'context: its mean return minus theirs, without the message itself. All replays of one context under ' +
      'the same weights count together.',
  },
  interval: {
    name: 'interval',
    meaning:
      'The range of the credit with 95 % confidence. It stays valid however often you look while replays ' +
      'are added. As long as it contains 0, the effect of the message is undecided.',
  },
  n: {
    name: 'n',
    meaning:
      'The number of distinct results behind the credit. The result of an equal message on an equal stream ' +
      'is the same one, and counts once. For messages that end the episode, each draw counts.',
  },
  effectiveN: {
    name: 'effective n',
    meaning:
      'The number of independent pieces of evidence behind the interval. Results that share a stream, or ' +
      'are compared with the same message, count together.',
  },
  stream: {
    name: 'stream',
    meaning:
      'The random numbers that a continuation draws. In a request, replay m of each alternative draws the ' +
      'same ones (common random numbers), so that a difference comes from the messages and not from chance.',
  },
  rho: {
    name: 'rho',
    meaning:
      'The part of the spread of returns that comes from the message, compared with everything after it. If ' +
      'rho is large, replays show more than whole episodes do.',
  },
  withinReach: {
    name: 'within reach',
    meaning:
      'The number of lost episodes that the team would win on average if it tried them again: the sum of ' +
      'their chances of success.',
  },
  policy: {
    name: 'policy',
    meaning: "The source of a role's messages: weights on this machine, a server, or a program.",
  },
  snapshot: {
    name: 'snapshot',
    meaning:
      'The weights that sampled a message, frozen and named by their hash. Training makes a new one at each step.',
  },
  run: {
    name: 'run',
    meaning:
      'A team that is trained and evaluated on a task, by one method and from one seed; or what other ' +
      'programs recorded.',
  },
  step: {
    name: 'step',
    meaning:
      'One update of the weights: episodes are sampled, their messages get credit, and the policies learn from it.',
  },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly meaning: string }>>;

export type TermName = keyof typeof GLOSSARY;
