import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Replay } from '../../../src/domain/replay.ts';
import { describeChangedRow } from '../../../src/domain/verification.ts';
import type { EnvironmentKind, EnvironmentOutcome } from '../../../src/environment/kind.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { recordTrainingTree } from '../../../src/replay/recordTree.ts';
import { replayMessage } from '../../../src/replay/replayMessage.ts';
import { alternativeReturns, findLeaves, toLog, computeReturn, type TreeMessage } from '../../../src/replay/tree.ts';
import { verifyReplays, type VerificationReport } from '../../../src/replay/verify.ts';
import { loadSqlite } from '../../../src/store/files/sqlite.ts';
import { eventHash } from '../../../src/store/tokens.ts';
import type { StoreWriter } from '../../../src/store/write/writer.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { countFanoutCalls } from '../../../src/team/rounds.ts';
import { held } from '../../support/held.ts';
import {
  allNodes,
  CountingEvaluator,
  errorOfKind,
  problems,
  LOO,
  NEVER,
  ROUND,
  RUN,
  SAMPLING,
  ScriptedPolicy,
  starts,
  storeFor,
  world,
  type World,
} from './helpers.ts';

const ALL = problems(2);
const LOOP: Protocol = parseProtocol(
  JSON.stringify({
    name: 'loop',
    roles: [
      { role: 'planner', prompt: 'Plan.' },
      { role: 'solver', prompt: 'Solve.', depends_on: ['planner'], with_answer: true },
    ],
    rounds: { turns: 3, environment: 'feedback', until: 1, discount: 0.5 },
  }),
  'loop.json',
);
const VOTERS: Protocol = parseProtocol(
  JSON.stringify({
    name: 'voters',
    roles: ['a', 'b', 'c'].map((role) => ({ role, prompt: 'Vote.' })),
    rounds: { turns: 2, memory: 'last', discount: 0.5, closing: { name: 'vote', ties: 'expected', of: 'b' } },
  }),
  'voters.json',
);

/** Every fourth text is right; a vote holds a number. */
const isRight = (text: string): 0 | 1 => (Number(/\d+/.exec(text)?.[0] ?? 1) % 4 === 0 ? 1 : 0);
const fresh = (protocol: Protocol): World => world(protocol, { evaluator: new CountingEvaluator(isRight) });

interface Scene {
  readonly made: World;
  readonly store: StoreWriter;
  readonly roots: readonly TreeMessage[];
  readonly verify: (replays?: readonly Replay[]) => Promise<VerificationReport>;
}

/** Trees of two problems, stored, and what checks them. */
async function scene(
  t: TestContext,
  protocol: Protocol,
  made = fresh(protocol),
  environments?: (name: string) => EnvironmentKind | undefined,
): Promise<Scene> {
  const store = storeFor(t, ALL);
  const settings = { ...made.settings, ...(environments && { environments }) };
  const roots = await growEpisodes(settings, starts(ALL), [2, 2], NEVER);
  for (const problem of ALL) {
    recordTrainingTree(
      store,
      roots.filter((root) => root.problem === problem),
      protocol,
      ROUND,
      LOO,
    );
  }
  const evaluator = new CountingEvaluator(isRight);
  const rules = { protocol, evaluator, returnBound: 10, ...(environments && { environments }) };
  return {
    made,
    store,
    roots,
    verify: (replays = store.replaysOfRun(RUN, 0, 1000)) =>
      verifyReplays(store, replays, () => Promise.resolve(held({ policy: made.policy })), rules, NEVER),
  };
}

const kind = (run: () => EnvironmentOutcome, derived = true): EnvironmentKind => ({
  name: 'feedback',
  words: 'A test.',
  options: {},
  derived,
  run,
});

describe('a tree whose episodes unfold in rounds', () => {
  it('has branches of different lengths, each with the return of its own rounds', async () => {
    const { settings, evaluator } = fresh(LOOP);
    const roots = await growEpisodes(settings, starts(ALL), [2, 2], NEVER);
    const leaves = roots.flatMap(findLeaves);
    const rounds = leaves.map((leaf) => {
      const log = toLog(LOOP, { message: leaf, events: leaf.after ?? [] });
      const made = log.filter((event) => event.kind === 'decision');
      const last = made.at(-1)?.reward;
      assert.equal(log.length, made.length + made.length / 2 - 1, 'feedback between two rounds, not after the last');
      assert.equal(computeReturn(leaf), last === 1 ? 0.5 ** (made.length / 2 - 1) : 0);
      assert.ok(last === 1 || made.length === 6, 'only what is right ends early');
      return made.length / 2;
    });
    assert.ok(new Set(rounds).size > 1, rounds.join());
    assert.ok(evaluator.calls <= ALL.length * countFanoutCalls(LOOP, [2, 2]));
    const second = allNodes(roots).find(({ position }) => position === 2);
    assert.match(second?.context ?? '', /Wrong, try again\./);
  });

  it('is the same again, and depends on no order of work', async () => {
    const texts = async (shuffled: boolean): Promise<string[]> => {
      const made = fresh(LOOP);
      made.policy.shuffled = shuffled;
      return allNodes(await growEpisodes(made.settings, starts(ALL), [2, 2], NEVER)).map(({ answer }) => answer.text);
    };
    assert.deepEqual(await texts(true), await texts(false));
  });

  it('closes with a vote that counts as its return', async () => {
    const { settings } = fresh(VOTERS);
    const [root] = await growEpisodes(settings, starts(ALL), [1], NEVER);
    const leaf = findLeaves(root ?? assert.fail())[0] ?? assert.fail();
    const { event, score } = leaf.after?.[0] ?? assert.fail();
    assert.deepEqual([event.source, event.closing], ['vote', true]);
    assert.equal(computeReturn(leaf), 0.5 * (score?.score ?? NaN));
    assert.equal(alternativeReturns(leaf, 10).evaluatorCalls, 1);
  });

  for (const protocol of [LOOP, VOTERS]) {
    it(`is stored, verified as identical and credited: ${protocol.name}`, async (t) => {
      const { store, roots, verify } = await scene(t, protocol);
      const report = await verify();
      assert.deepEqual([report.different, report.notComparable], [0, 0], report.firstReason ?? '');
      assert.equal(report.identical, store.replaysOfRun(RUN, 0, 1000).length);
      for (const leaf of roots.flatMap(findLeaves)) {
        const stored = store.environmentEvents(leaf.stored ?? 0, 'after').map(({ sha256 }) => sha256);
        assert.deepEqual(
          stored,
          (leaf.after ?? []).map(({ event }) => eventHash(event)),
        );
      }
      const [bucket = assert.fail()] = store.bucketsOfRun({ run: RUN, offset: 0, limit: 1 });
      assert.ok(bucket.alternatives.every(({ bucketCredit }) => bucketCredit !== null));
    });

    it(`is replayed from any of its messages, with the events before them: ${protocol.name}`, async (t) => {
      const { made, store, roots, verify } = await scene(t, protocol);
      const messages = allNodes(roots).filter(({ problem }) => problem === ALL[0]);
      for (const position of new Set(messages.map((message) => message.position))) {
        const message = messages.find((message) => message.position === position)?.stored ?? assert.fail();
        const bucket = await replayMessage(
          { message, alternatives: 3, replays: 2, text: 'says 4' },
          {
            store,
            protocol,
            render: renderPlain,
            policy: made.policy,
            evaluator: new CountingEvaluator(isRight),
            sampling: SAMPLING,
            seed: 5,
            returnBound: 10,
            credit: LOO,
          },
          { signal: new AbortController().signal, onProgress: () => undefined },
        );
        assert.equal(bucket.alternatives.length, 5);
        assert.ok(bucket.alternatives.every(({ returns }) => returns.every((value) => value !== null)));
      }
      const report = await verify();
      assert.deepEqual([report.different, report.notComparable], [0, 0], report.firstReason ?? '');
    });
  }
});

describe('an environment', () => {
  it('that throws fails the work in one sentence that names it, and nothing stored is lost', async (t) => {
    const { store } = await scene(t, LOOP);
    const before = store.counts();
    const broken = kind(() => {
      throw new Error('The scale is broken.');
    });
    const { settings } = fresh(LOOP);
    await assert.rejects(
      growEpisodes({ ...settings, environments: () => broken }, starts(ALL), [2, 2], NEVER),
      errorOfKind(
        'engine',
        /The environment 'feedback' of the protocol loop failed after 2 events .*: The scale is broken\. What is stored stays/,
      ),
    );
    await assert.rejects(
      growEpisodes({ ...settings, environments: () => undefined }, starts(ALL), [2, 2], NEVER),
      errorOfKind('engine', /it is not known here/),
    );
    assert.deepEqual(store.counts(), before);
  });

  it('that says too much is refused', async () => {
    const { settings } = fresh(LOOP);
    const loud = kind(() => ({ text: 'x'.repeat(20_000) }));
    await assert.rejects(
      growEpisodes({ ...settings, environments: () => loud }, starts(ALL), [2, 2], NEVER),
      errorOfKind('engine', /it says more than 16384 characters/),
    );
  });

  it('whose event is recorded as it came is not executed again, and verification says so', async (t) => {
    let calls = 0;
    const expert = kind(() => ({ text: `Edit ${++calls}.` }), false);
    const { verify } = await scene(t, LOOP, fresh(LOOP), () => expert);
    const made = calls;
    const report = await verify();
    assert.deepEqual([report.different, report.notComparable, calls], [0, 0, made]);
  });

  it('that closed an episode before reasons were stored is verified as identical', async (t) => {
    let reasons = false;
    // What no environment may return any more, as it was stored then.
    const unexplained = JSON.parse('{"text": "Counted.", "done": null}') as EnvironmentOutcome;
    const counted = kind(() => (reasons ? { text: 'Counted.' } : unexplained));
    const { roots, verify } = await scene(t, VOTERS, fresh(VOTERS), () => counted);
    assert.ok(roots.flatMap(findLeaves).every(({ after }) => after?.at(-1)?.event.done === null));
    reasons = true;
    const report = await verify();
    assert.deepEqual([report.different, report.notComparable], [0, 0], report.firstReason ?? '');
  });

  it('that gives another event now is found different', async (t) => {
    let word = 'Wrong.';
    const moody = kind(() => ({ text: word }));
    const { verify } = await scene(t, LOOP, fresh(LOOP), () => moody);
    assert.equal((await verify()).different, 0);
    word = 'Almost.';
    const report = await verify();
    assert.ok(report.different > 0);
    assert.match(report.firstDifference?.detail ?? '', /environment event \d+ \(feedback\) comes out as another one/);
  });

  it('whose stored row was changed is found', async (t) => {
    const { store, verify } = await scene(t, LOOP);
    const db = new (loadSqlite())(store.path);
    db.exec("DROP TRIGGER environment_event_no_update; UPDATE environment_event SET body = 'Right.' WHERE id = 1");
    db.close();
    const report = await verify();
    assert.ok(report.different > 0);
    assert.ok(report.firstDifference?.detail.endsWith(describeChangedRow('')));
  });
});

it('a team whose speakers choose each other ends at a speaker that does not exist', async () => {
  const protocol = parseProtocol(
    JSON.stringify({
      name: 'talk',
      roles: ['chair', 'expert'].map((role) => ({ role, prompt: 'Talk.' })),
      rounds: { order: 'chosen', closing: 'last', max_events: 8 },
    }),
    'talk.json',
  );
  const reasons: (string | null)[] = [];
  const says = (script: (turn: number) => string): Promise<readonly string[]> => {
    const made = world(protocol, {
      policy: new ScriptedPolicy(({ turn = 0, role }) => `${role} ${turn}\n${script(turn)}`),
    });
    return growEpisodes(made.settings, starts(ALL.slice(0, 1)), [], NEVER).then((roots) => {
      reasons.push(...roots.flatMap(findLeaves).map(({ after }) => after?.at(-1)?.event.done ?? null));
      return allNodes(roots).map(({ answer }) => answer.text.split('\n')[0] ?? '');
    });
  };
  assert.deepEqual(await says(() => 'next: ghost'), ['chair 0']);
  assert.deepEqual(await says((turn) => (turn < 2 ? 'next: expert' : '')), [
    'chair 0',
    'expert 0',
    'expert 1',
    'expert 2',
  ]);
  assert.equal((await says(() => 'next: chair')).length, 7);
  assert.deepEqual(reasons, [
    'the last message names "ghost", who is no role of talk',
    'the last message names no next speaker',
    'all 7 rounds are over',
  ]);
});

it('a team whose speakers are drawn speaks in the same order whenever its seed does, and in another one beside it', async () => {
  const protocol = parseProtocol(
    JSON.stringify({
      name: 'drawn',
      roles: ['a', 'b', 'c'].map((role) => ({ role, prompt: 'Talk.' })),
      rounds: { order: 'drawn', closing: 'last', turns: 9 },
    }),
    'drawn.json',
  );
  const speakers = async (seed: number): Promise<string[]> => {
    const { settings } = world(protocol, { policy: new ScriptedPolicy(({ role }) => role) });
    const roots = await growEpisodes(
      { ...settings, seed, commonRandomNumbers: false },
      starts(ALL.slice(0, 1)),
      [2],
      NEVER,
    );
    return roots.map((root) =>
      allNodes([root])
        .map(({ answer }) => answer.text)
        .join(''),
    );
  };
  const [first = '', second = ''] = await speakers(3);
  assert.deepEqual(await speakers(3), [first, second]);
  assert.notDeepEqual(await speakers(4), [first, second]);
  // Roots of one problem draw the first speaker together, and each of the others alone.
  assert.equal(first[0], second[0]);
  assert.notEqual(first, second);
  assert.match(first, /^[abc]{9}$/u);
  assert.match(first + second, /aa|bb|cc/u, 'a speaker may be drawn again at once');
});
