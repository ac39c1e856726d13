/** Scripted policies and evaluators, protocols and stores for the tests of the replay room. */

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { creditIfComparable } from '../../../src/credit/compared.ts';
import type { Sampling } from '../../../src/domain/message.ts';
import type { Problem } from '../../../src/domain/problem.ts';
import type { NumericEnvironment } from '../../../src/domain/snapshot.ts';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import type { Policy, PolicyAnswer, PolicyControl, PolicyRequest, TypedRequest } from '../../../src/policy/policy.ts';
import { EvaluatorBudget } from '../../../src/replay/budget.ts';
import type { TreeSettings } from '../../../src/replay/grow.ts';
import { toMessageRow, type CreditRule, type RoundRecord } from '../../../src/replay/recordTree.ts';
import type { Branch, TreeMessage } from '../../../src/replay/tree.ts';
import { C3Error, CancelledError, type ErrorKind } from '../../../src/shared/errors.ts';
import { openStoreForWriting, type StoreWriter } from '../../../src/store/write/writer.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { UNIT_RULE } from '../../support/headlines.ts';

export const RUN = 'run-1';
export const SNAPSHOT = 'ab'.repeat(32);
export const ENVIRONMENT: NumericEnvironment = {
  runtime: 'scripted',
  provider: 'cpu',
  device: 'none',
  threads: 1,
  platform: 'any',
};
export const SAMPLING: Sampling = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 40 };
export const LOO: CreditRule = (alternatives) => creditIfComparable(alternatives, 'loo');
export const NEVER: PolicyControl = { signal: new AbortController().signal };

export const PAIR: Protocol = parseProtocol(
  JSON.stringify([
    { role: 'reasoner', prompt: 'Plan.', max_new_tokens: 7 },
    { role: 'actor', prompt: 'Solve.', depends_on: ['reasoner'], with_answer: true },
  ]),
  'pair.json',
);
export const CHAIN: Protocol = parseProtocol(
  JSON.stringify(
    ['first', 'second', 'third', 'fourth'].map((role, index, all) => ({
      role,
      prompt: `Be ${role}.`,
      depends_on: index === 0 ? [] : [all[index - 1]],
    })),
  ),
  'chain.json',
);
/** Left and right see the planner and not each other; the integrator sees all. */
export const PARALLEL: Protocol = parseProtocol(
  JSON.stringify([
    { role: 'planner', prompt: 'Plan.' },
    { role: 'left', prompt: 'Go left.', depends_on: ['planner'] },
    { role: 'right', prompt: 'Go right.', depends_on: ['planner'] },
    { role: 'integrator', prompt: 'Join.', depends_on: ['left', 'right'], with_answer: true },
  ]),
  'parallel.json',
);
export const TWICE: Protocol = parseProtocol(
  JSON.stringify({
    name: 'twice',
    roles: [
      { role: 'writer', prompt: 'Write.' },
      { role: 'critic', prompt: 'Judge.' },
    ],
    turns: [{ role: 'writer' }, { role: 'critic', depends_on: ['writer'] }, { role: 'writer', depends_on: ['critic'] }],
  }),
  'twice.json',
);
/** Both messages are scored, the first as a checkpoint. */
export const CHECKPOINTS: Protocol = parseProtocol(
  JSON.stringify({
    name: 'checkpoints',
    roles: [
      { role: 'draft', prompt: 'Draft.' },
      { role: 'final', prompt: 'Finish.' },
    ],
    turns: [{ role: 'draft' }, { role: 'final', depends_on: ['draft'] }],
    scored: ['draft', 'final'],
  }),
  'checkpoints.json',
);

export function problems(count: number): Problem[] {
  return Array.from({ length: count }, (_, index) => ({
    uid: `q-${index}`,
    uidSha: createHash('sha256').update(`q-${index}`).digest('hex'),
    question: `Question ${index}?`,
    answer: String(index),
    source: 'test',
    level: null,
  }));
}

/** The first 32 bits of a SHA-256, as a source of arbitrary but fixed numbers. */
export const digest = (...parts: readonly string[]): number =>
  createHash('sha256').update(parts.join('\0')).digest().readUInt32BE(0);

/** Answers a request with a text that depends on its context and stream alone. */
export const hashed = ({ context, streamKey }: PolicyRequest): string => `says ${digest(context, streamKey) % 97}`;

export class ScriptedPolicy implements Policy {
  readonly snapshot = SNAPSHOT;
  readonly environment = ENVIRONMENT;
  seeded = true;
  /** Everything that was asked, in order. */
  readonly requests: PolicyRequest[] = [];
  /** Ends answers in an arbitrary order instead of the last first. */
  shuffled = false;
  /** Answers after which the policy finds itself cancelled. */
  answersLeft = Infinity;
  private readonly script: (request: PolicyRequest) => string;

  constructor(script: (request: PolicyRequest) => string = hashed) {
    this.script = script;
  }

  answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]> {
    this.requests.push(...requests);
    const answers: PolicyAnswer[] = [];
    // The order of completion is the runtime's own.
    const order = requests.map((request, index) => ({
      request,
      index,
      rank: this.shuffled ? digest(request.context, request.streamKey) : -index,
    }));
    for (const { request, index } of order.toSorted((a, b) => a.rank - b.rank)) {
      if (control.signal.aborted || this.answersLeft-- <= 0) {
        return Promise.reject(new CancelledError());
      }
      const answer = answerOf(request.context, this.script(request));
      answers[index] = answer;
      control.onAnswer?.(index, answer);
    }
    return Promise.resolve(answers);
  }

  typed({ context, text }: TypedRequest): Promise<PolicyAnswer> {
    return Promise.resolve({ ...answerOf(context, text), finish: 'typed' });
  }
}

function answerOf(context: string, text: string): PolicyAnswer {
  const tokens = Int32Array.from(Buffer.from(text));
  return {
    text,
    prompt: Int32Array.from(Buffer.from(context)),
    tokens,
    logprobs: new Float32Array(tokens.length).fill(-0.5),
    finish: 'end',
    reusedTokens: 0,
  };
}

/** Scores by a function and counts its calls; null is a masked score. */
export class CountingEvaluator implements Evaluator {
  readonly name = 'counting';
  calls = 0;
  private readonly score: (text: string) => 0 | 1 | null;

  constructor(score: (text: string) => 0 | 1 | null = (text) => (digest(text) % 2 === 0 ? 0 : 1)) {
    this.score = score;
  }

  evaluate(_: Problem, text: string): ReturnType<Evaluator['evaluate']> {
    this.calls++;
    const score = this.score(text);
    return Promise.resolve(
      score === null ? { score, rule: 'broken', masked: 'The evaluator is broken.' } : { score, rule: 'digest' },
    );
  }
}

export interface World {
  readonly settings: TreeSettings;
  readonly policy: ScriptedPolicy;
  readonly evaluator: CountingEvaluator;
}

export function world(
  protocol: Protocol,
  changes: Partial<
    Pick<World, 'policy' | 'evaluator'> &
      Pick<TreeSettings, 'budget' | 'seed' | 'scope' | 'sampling' | 'commonRandomNumbers'>
  > = {},
): World {
  const { policy = new ScriptedPolicy(), evaluator = new CountingEvaluator(), ...rest } = changes;
  return {
    policy,
    evaluator,
    settings: {
      protocol,
      render: renderPlain,
      policy,
      evaluator,
      budget: new EvaluatorBudget(Infinity),
      sampling: SAMPLING,
      seed: 5,
      scope: 'iteration:1',
      commonRandomNumbers: true,
      ...rest,
    },
  };
}

export const starts = (of: readonly Problem[]): Branch[] => of.map((problem) => ({ problem, message: null }));
export const positionsOf = (protocol: Protocol): number[] => protocol.occurrences.map(({ position }) => position);

/** Every node of a forest, parents first. */
export const allNodes = (messages: readonly TreeMessage[]): TreeMessage[] =>
  messages.flatMap((message) => [message, ...allNodes(message.children)]);

export const ROUND: RoundRecord = {
  run: RUN,
  phase: 'train',
  iteration: 1,
  snapshot: SNAPSHOT,
  environment: 1,
  returnBound: 10,
};

/** A store of its own with one run, its snapshot, the problems and environment 1. */
export function storeFor(t: TestContext, of: readonly Problem[]): StoreWriter {
  const folder = mkdtempSync(join(tmpdir(), 'c3-replay-'));
  const store = openStoreForWriting(join(folder, 'c3.sqlite'), { headlines: UNIT_RULE });
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  store.insertRun({
    id: RUN,
    method: 'c3',
    seed: 5,
    title: 'test',
    config: '{}',
    plannedSteps: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
  });
  store.insertSnapshot({ id: SNAPSHOT, run: RUN, iteration: 0, base: 'nowhere', file: null });
  store.insertProblems(of);
  store.environmentId(ENVIRONMENT);
  return store;
}

/** Stores a path of nodes from the root down, outside any bucket. */
export function storePath(store: StoreWriter, protocol: Protocol, leaf: TreeMessage): void {
  if (leaf.parent !== null && leaf.parent.stored === undefined) {
    storePath(store, protocol, leaf.parent);
  }
  leaf.stored = store.insertMessage(toMessageRow(leaf, protocol, ROUND, null));
}

export const errorOfKind =
  (kind: ErrorKind, pattern: RegExp) =>
  (error: unknown): boolean =>
    error instanceof C3Error && error.kind === kind && !error.message.includes('\n') && pattern.test(error.message);
