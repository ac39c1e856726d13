import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { classifyDraws, type Replay } from '../../../src/domain/replay.ts';
import { summarizeVerdicts } from '../../../src/domain/verification.ts';
import { answerEvaluator, type Evaluator } from '../../../src/evaluate/evaluator.ts';
import { LocalPolicy, PolicyGone, type PolicySource } from '../../../src/policy/policy.ts';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import { replayMessage } from '../../../src/replay/replayMessage.ts';
import { ReturnCheck } from '../../../src/replay/returnCheck.ts';
import { findReplaysOfMessage, verifyReplays, type VerificationReport } from '../../../src/replay/verify.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { loadSqlite } from '../../../src/store/files/sqlite.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { getRunSampling } from '../../../src/training/config/config.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { held } from '../../support/held.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../training/tinyRun.ts';
import { PAIR } from '../training/tinyTeam.ts';
import { LOO } from './helpers.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => {
  team.remove();
});

interface Scene {
  readonly run: TinyRun;
  readonly replays: Replay[];
  readonly source: PolicySource;
  readonly check: (
    replays?: readonly Replay[],
    source?: PolicySource,
    signal?: AbortSignal,
    evaluator?: Evaluator,
  ) => Promise<VerificationReport>;
  /** Done of total, as it was reported. */
  readonly told: string[];
}

/** A run of two steps with a typed replay request, and a runtime to check it with. */
async function scene(t: TestContext): Promise<Scene> {
  const run = await tinyWorld(t, team.folder);
  await run.start({ overrides: ['evaluation.instances=0', 'instances_per_step=2'], evaluation: [] });
  const { store, host } = run;
  const tokenizer = await loadTokenizer(team.folder);
  const source: PolicySource = async (snapshot) => {
    if (!(await host.snapshots()).includes(snapshot)) {
      const file = store.snapshots(snapshot)[0]?.file;
      if (typeof file !== 'string') {
        throw new PolicyGone(`no weights of ${snapshot}`);
      }
      await host.loadSnapshot(file);
    }
    return held({ policy: new LocalPolicy(host, tokenizer, snapshot) });
  };
  const message = store.bucketsOfRun({ run: 'run-1', offset: 0, limit: 1 })[0]?.alternatives[1]?.message ?? 0;
  const { policy } = await source(store.message(message).snapshot);
  await replayMessage(
    { message, alternatives: 2, replays: 2, text: '2+2' },
    {
      store,
      protocol: PAIR,
      render: renderPlain,
      policy,
      evaluator: answerEvaluator,
      sampling: { ...getRunSampling(readConfig('', '')), maxNewTokens: 6 },
      seed: 0,
      returnBound: 10,
      credit: LOO,
    },
    { signal: new AbortController().signal, onProgress: () => undefined },
  );
  const replays = store.replaysOfRun('run-1', 0, 1000);
  const told: string[] = [];
  const onProgress = (done: number, total: number): void => {
    told.push(`${done} of ${total}`);
  };
  return {
    run,
    replays,
    source,
    told,
    check: (some = replays, from = source, signal = new AbortController().signal, evaluator = answerEvaluator) =>
      verifyReplays(store, some, from, { protocol: PAIR, evaluator, returnBound: 10 }, { signal, onProgress }),
  };
}

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

/** Does what another program could do to a row. */
function tamper({ run }: Scene, ...statements: readonly string[]): void {
  const db = new (loadSqlite())(run.store.path);
  for (const statement of statements) {
    db.exec(statement);
  }
  db.close();
}

describe('verifyReplays', () => {
  it('finds training trees and requests of two snapshots identical on the real runtime', async (t) => {
    const { run, replays, check, told } = await scene(t);
    // Two steps of two problems with 8 + 8 replays, and a request of four alternatives.
    assert.equal(replays.length, 2 * 2 * 16 + 4 * 2);
    assert.equal(new Set(replays.map(({ bucket }) => run.store.bucket(bucket).snapshot)).size, 2);
    assert.deepEqual(await check(), {
      checked: 72,
      identical: 72,
      different: 0,
      notComparable: 0,
      firstDifference: null,
      firstReason: null,
    });
    assert.deepEqual(told, ['40 of 72', '72 of 72'], 'snapshot by snapshot');
    for (const { id, environment } of replays) {
      assert.deepEqual(
        run.store.verifications(id).map((one) => [one.result, one.environment]),
        [['identical', environment]],
      );
    }
    assert.ok(
      run.store
        .bucketsOfRun({ run: 'run-1', offset: 0, limit: 100 })
        .every(({ alternatives }) => alternatives.every(({ verified }) => verified === true)),
    );
  });

  it('names the message and the token of a row that was changed', async (t) => {
    const here = await scene(t);
    const { run, replays, check } = here;
    const victim =
      replays.find(({ leaf }) => run.store.fullMessage(leaf).tokens.length >= 3)?.leaf ??
      assert.fail('no long message');
    const tokens = run.store.fullMessage(victim).tokens;
    tokens[2] = (tokens[2] ?? 0) + 1;
    const hex = Buffer.from(tokens.buffer).toString('hex');
    tamper(here, 'DROP TRIGGER decision_no_update', `UPDATE decision SET tokens = x'${hex}' WHERE id = ${victim}`);
    const affected = replays.filter(({ leaf }) => leaf === victim);
    const report = await check();
    assert.deepEqual(
      [report.different, report.identical, report.notComparable],
      [affected.length, 72 - affected.length, 0],
    );
    assert.deepEqual(report.firstDifference, {
      replay: affected[0]?.id,
      message: victim,
      token: 2,
      detail: `message ${victim} differs at token 2; the stored tokens of message ${victim} do not match their hash: the row was changed`,
    });
    for (const { id } of affected) {
      assert.equal(run.store.verifications(id)[0]?.result, 'different');
    }
  });

  it('finds a message that was cut or lengthened at the first token that is not there', async (t) => {
    const here = await scene(t);
    const { run, replays, check } = here;
    const victim = replays[0]?.leaf ?? 0;
    const { tokens } = run.store.fullMessage(victim);
    tamper(
      here,
      'DROP TRIGGER decision_no_update',
      `UPDATE decision SET tokens = substr(tokens, 1, ${4 * (tokens.length - 1)}) WHERE id = ${victim}`,
    );
    assert.equal((await check(replays.slice(0, 1))).firstDifference?.token, tokens.length - 1);
  });

  it('notices a changed row also where nothing can be executed', async (t) => {
    const here = await scene(t);
    const { replays, check } = here;
    const victim = replays[0]?.leaf ?? 0;
    tamper(here, 'DROP TRIGGER decision_no_update', `UPDATE decision SET tokens = x'07000000' WHERE id = ${victim}`);
    const report = await check(replays.slice(0, 1), () => Promise.reject(new PolicyGone('The weights are gone.')));
    assert.equal(report.different, 1);
    assert.match(report.firstDifference?.detail ?? '', /row was changed/);
    // Tokens and their own hash changed together: the hash of the replay still shows it.
    tamper(
      here,
      'DROP TRIGGER replay_no_update',
      `UPDATE replay SET token_hash = '${'0'.repeat(64)}' WHERE id = ${replays[1]?.id ?? 0}`,
    );
    assert.match(
      (await check(here.run.store.replaysOfRun('run-1', 1, 1))).firstDifference?.detail ?? '',
      /do not match its hash/,
    );
  });

  it('catches whatever was changed in a row, and says what', async (t) => {
    const here = await scene(t);
    const { run, replays, check } = here;
    const message = (id: number, set: string): string => `UPDATE decision SET ${set} WHERE id = ${id}`;
    const other = (column: string, id: number): string =>
      `${column} = (SELECT ${column} FROM decision WHERE ${column} <> (SELECT ${column} FROM decision WHERE id = ${id}) LIMIT 1)`;
    const cases: readonly (readonly [
      what: string,
      change: (replay: Replay) => string,
      detail: RegExp,
      label: RegExp,
    ])[] = [
      [
        'token hash',
        ({ leaf }) => message(leaf, `token_hash = '${'0'.repeat(64)}'`),
        /stored tokens of message \d+ do not match their hash/,
        /^row changed$/,
      ],
      [
        'text',
        ({ leaf }) => message(leaf, other('message', leaf)),
        /stored text of message \d+ is not that of its tokens: the row was changed/,
        /^row changed$/,
      ],
      [
        'context',
        ({ leaf }) => message(leaf, other('context', leaf)),
        /differs at token \d+( in its log-probability)?; .*the row was changed/,
        /^differs at token \d+$/,
      ],
      [
        'stream key',
        ({ leaf }) => message(leaf, `stream_key = '${'0123456789abcdef'.repeat(2)}'`),
        /the row was changed/,
        /^(differs at token \d+|row changed)$/,
      ],
      [
        'stream key, to none',
        ({ leaf }) => message(leaf, "stream_key = ''"),
        /do not match its hash: the row was changed/,
        /^row changed$/,
      ],
      [
        'stream key, to nonsense',
        ({ leaf }) => message(leaf, "stream_key = 'nonsense'"),
        /do not match its hash: the row was changed/,
        /^row changed$/,
      ],
      [
        'log-probabilities',
        ({ leaf }) => message(leaf, 'logprobs = zeroblob(length(logprobs))'),
        /differs at token 0 in its log-probability; .*the row was changed/,
        /^differs at token 0$/,
      ],
      [
        'log-probabilities, by little',
        ({ leaf }) => message(leaf, "logprobs = CAST(x'01' || substr(logprobs, 2) AS BLOB)"),
        /do not match its hash: the row was changed/,
        /^row changed$/,
      ],
      [
        'log-probabilities, to none',
        ({ leaf }) => message(leaf, "logprobs = x''"),
        /differs at token 0 in its log-probability/,
        /^differs at token 0$/,
      ],
      ['temperature', ({ leaf }) => message(leaf, 'temperature = 1.0001'), /the row was changed/, /changed|differs/],
      ['cap on tokens', ({ leaf }) => message(leaf, 'max_new_tokens = 40'), /the row was changed/, /changed|differs/],
      [
        'cap on tokens, beyond the model',
        ({ leaf }) => message(leaf, 'max_new_tokens = 100000'),
        /the row was changed/,
        /changed|differs/,
      ],
      [
        'end',
        ({ leaf }) => message(leaf, "finish = CASE finish WHEN 'end' THEN 'length' ELSE 'end' END"),
        /is stored as ended by/,
        /^row changed$/,
      ],
      [
        'return',
        ({ id }) => `UPDATE replay SET return = 1 - return WHERE id = ${id}`,
        /^return differs: ([01]) is stored, the evaluator says (?!\1)[01] of the stored messages$/,
        /^return differs$/,
      ],
      [
        'return, to masked',
        ({ id }) => `UPDATE replay SET return = NULL WHERE id = ${id}`,
        /^return differs: masked is stored/,
        /^return differs$/,
      ],
      [
        'evaluator calls',
        ({ id }) => `UPDATE replay SET evaluator_calls = 7 WHERE id = ${id}`,
        /do not match its hash/,
        /^row changed$/,
      ],
      [
        'hash of the replay',
        ({ id }) => `UPDATE replay SET token_hash = '${'0'.repeat(64)}' WHERE id = ${id}`,
        /do not match its hash/,
        /^row changed$/,
      ],
    ];
    // Replays of the actors' buckets: each has a leaf that only a reasoner's replay shares.
    const victims = replays.filter(({ alternative, leaf }) => alternative === leaf).slice(0, cases.length);
    tamper(
      here,
      'DROP TRIGGER decision_no_update; DROP TRIGGER replay_no_update',
      ...cases.map(([, change], index) => change(victims[index] ?? assert.fail())),
    );
    const touched = new Set(victims.map(({ leaf }) => leaf));
    const changedReplays = new Set(victims.map(({ id }) => id));
    await check(run.store.replaysOfRun('run-1', 0, 1000));
    for (const [index, [what, , detail, label]] of cases.entries()) {
      const found = run.store.verifications(victims[index]?.id ?? 0).at(-1);
      assert.equal(found?.result, 'different', what);
      assert.match(found.detail, detail, what);
      assert.match(summarizeVerdicts([found])?.label ?? '', label, what);
    }
    for (const { id, leaf } of replays) {
      const found = run.store.verifications(id).at(-1)?.result;
      if (!changedReplays.has(id) && !touched.has(leaf)) {
        assert.equal(found, 'identical', `replay ${id}`);
      }
    }
  });

  it('catches a text that was changed in place, and leaves alone who does not share it', async (t) => {
    const here = await scene(t);
    const { run, check } = here;
    const [replay] = here.replays;
    assert.ok(replay);
    const context = run.store.fullMessage(replay.leaf).context;
    tamper(
      here,
      'DROP TRIGGER text_no_update',
      `UPDATE text SET body = body || ' ' WHERE id = (
        SELECT text FROM context WHERE key = '${run.store.fullMessage(replay.leaf).contextKey}')`,
    );
    assert.equal(run.store.fullMessage(replay.leaf).context, `${context} `);
    const report = await check();
    assert.match(
      report.firstDifference?.detail ?? '',
      /stored context of message \d+ does not match its key: the row was changed/,
    );
    assert.ok(report.identical > 0 && report.different > 0);
    for (const { id, leaf } of here.replays) {
      assert.equal(
        run.store.verifications(id)[0]?.result === 'different',
        run.store.fullMessage(leaf).context === `${context} `,
        `replay ${id}`,
      );
    }
  });

  it('knows the hash that replays had at first, and still compares them', async (t) => {
    const here = await scene(t);
    const { run, replays, check } = here;
    const old = ({ alternative, leaf }: Replay): string =>
      sha256(
        (alternative === leaf ? [leaf] : [alternative, leaf])
          .map((id) => run.store.fullMessage(id).tokenHash)
          .join('\n'),
      );
    tamper(
      here,
      'DROP TRIGGER replay_no_update',
      ...replays.map((replay) => `UPDATE replay SET token_hash = '${old(replay)}' WHERE id = ${replay.id}`),
    );
    const stored = run.store.replaysOfRun('run-1', 0, 1000);
    assert.equal((await check(stored)).identical, 72);
    const victim = stored[0]?.leaf ?? 0;
    tamper(
      here,
      'DROP TRIGGER decision_no_update',
      `UPDATE decision SET stream_key = '${'0123456789abcdef'.repeat(2)}', tokens = x'07000000', token_hash = '${sha256(Buffer.from('07000000', 'hex'))}' WHERE id = ${victim}`,
    );
    assert.equal((await check(stored.slice(0, 1))).firstDifference?.message, victim);
  });

  it('takes a masked return again: not comparable where the evaluator fails now, a difference where it does not any more', async (t) => {
    const { run, replays, check } = await scene(t);
    const broken: Evaluator = {
      name: 'broken',
      evaluate: () => Promise.resolve({ score: null, rule: 'broken', masked: 'The grader is out of reach.' }),
    };
    const report = await check(replays.slice(0, 3), undefined, undefined, broken);
    assert.deepEqual([report.notComparable, report.different], [3, 0]);
    assert.match(
      run.store.verifications(replays[0]?.id ?? 0)[0]?.detail ?? '',
      /return cannot be taken again, the evaluator failed: The grader is out of reach\./,
    );
  });

  it('takes the masked return of an episode for the same whose message a server never gave', async (t) => {
    const { run, replays } = await scene(t);
    const [replay] = replays;
    assert.ok(replay);
    const episode = run.store.chain(replay.leaf).map(({ id }) => run.store.fullMessage(id));
    const lost = episode.with(-1, {
      ...(episode.at(-1) ?? assert.fail()),
      ...{ text: '', tokens: new Int32Array(), finish: 'length' },
    });
    const rules = { protocol: PAIR, evaluator: answerEvaluator, returnBound: 1 };
    const check = new ReturnCheck(run.store, rules, new AbortController().signal);
    assert.equal(await check.outcome({ ...replay, return: null }, lost), null);
    const { result, detail } = (await check.outcome({ ...replay, return: 1 }, lost)) ?? assert.fail();
    assert.deepEqual([result, detail.split(',')[0]], ['different', 'return differs: 1 is stored']);
  });

  it('compares nothing that drew no numbers of ours', async (t) => {
    const { run, replays, source, check } = await scene(t);
    const unseeded: PolicySource = async (snapshot) => {
      const { environment } = (await source(snapshot)).policy;
      const answer = (): never => assert.fail('nothing is executed');
      return held({ policy: { snapshot, environment, seeded: false, answer, typed: answer } });
    };
    assert.equal((await check(undefined, unseeded)).notComparable, 72);
    assert.match(run.store.verifications(replays[0]?.id ?? 0)[0]?.detail ?? '', /The endpoint takes no seeds/);
  });

  it('compares nothing across numeric environments, and says which part differs', async (t) => {
    const { run, source, check } = await scene(t);
    const elsewhere: PolicySource = async (snapshot) => {
      const { policy } = await source(snapshot);
      const environment = { ...policy.environment, threads: 7, device: 'another processor' };
      const answer = (): never => assert.fail('nothing is executed');
      return held({ policy: { snapshot, environment, seeded: true, answer, typed: answer } });
    };
    const report = await check(undefined, elsewhere);
    assert.deepEqual(
      [report.notComparable, report.identical, report.different, report.firstDifference],
      [72, 0, 0, null],
    );
    assert.match(
      run.store.verifications(1)[0]?.detail ?? '',
      /^other numeric environment: device .+, now another processor; threads 1, now 7$/,
    );
    assert.ok(run.store.bucketView(1).alternatives.every(({ verified }) => verified === null));
  });

  it('gives the reason where weights are missing', async (t) => {
    const { run, source, check } = await scene(t);
    const trained = run.store.snapshotsOfRun('run-1').filter(({ file }) => file !== null);
    for (const { id, file } of trained) {
      rmSync(file ?? '');
      await run.host.releaseSnapshot(id);
    }
    const gone: PolicySource = (snapshot) =>
      source(snapshot).catch((error: unknown) => {
        throw new PolicyGone(error instanceof Error ? error.message : '');
      });
    const report = await check(undefined, gone);
    // The first step's behaviour policy is the base, whose folder is still there.
    assert.deepEqual([report.identical, report.notComparable, report.different], [32 + 8, 32, 0]);
    assert.match(run.store.verifications(33)[0]?.detail ?? '', /^Cannot read .+; choose a folder/);
  });

  it('keeps what it found before a cancel', async (t) => {
    const { run, check } = await scene(t);
    let asked = 0;
    const lateCancel = makeSignalAbortedWhen(() => {
      asked++;
      return run.store.verifications(1).length > 0;
    });
    await assert.rejects(check(undefined, undefined, lateCancel), CancelledError);
    assert.ok(asked > 0);
    assert.deepEqual([run.store.verifications(1).length, run.store.verifications(33).length], [1, 0]);
  });
});

describe('credit.common_random_numbers', () => {
  it('says how the trees of a run draw, and either way they verify', async (t) => {
    for (const [setting, expected] of [
      [[], 'independent'],
      [['credit.common_random_numbers=true'], 'common'],
    ] as const) {
      const run = await tinyWorld(t, team.folder);
      await run.start({
        overrides: ['evaluation.instances=0', 'instances_per_step=2', 'steps=1', ...setting],
        evaluation: [],
      });
      const { store, host, base } = run;
      if (expected === 'independent') {
        const messages = store.bucketsOfRun({ run: 'run-1', offset: 0, limit: 100 }).flatMap((one) => one.alternatives);
        const streams = messages.map(({ message }) => store.fullMessage(message).streamKey);
        assert.deepEqual([streams.length, new Set(streams).size], [20, 20], 'no two messages share a stream');
        assert.ok(new Set(messages.map(({ text }) => text)).size < messages.length, 'though some are equal');
      }
      const draws = store
        .bucketsOfRun({ run: 'run-1', offset: 0, limit: 100 })
        .map(({ id }) => classifyDraws(store.replaysOfBucket(id), (message) => store.fullMessage(message).streamKey));
      assert.deepEqual(
        new Set(draws),
        new Set([expected, null]),
        'the plans share or do not; the answers end the episode',
      );
      const policy = new LocalPolicy(host, await loadTokenizer(team.folder), base);
      const report = await verifyReplays(
        store,
        store.replaysOfRun('run-1', 0, 1000),
        () => Promise.resolve(held({ policy })),
        { protocol: PAIR, evaluator: answerEvaluator, returnBound: 10 },
        { signal: new AbortController().signal },
      );
      assert.deepEqual([report.checked, report.identical], [32, 32]);
    }
  });
});

describe('replaysOfMessage', () => {
  it('finds the replays that a message represents, and no others', async (t) => {
    const {
      run: { store },
    } = await scene(t);
    const [request] = store.bucketsOfRun({ run: 'run-1', origin: 'request', offset: 0, limit: 1 });
    assert.ok(request?.message);
    const asked = store.message(request.message);
    const all = store.replaysOfBucket(request.id);
    const own = store.replaysOfBucket(asked.bucket ?? 0).filter(({ alternative }) => alternative === asked.id);
    const ids = (replays: readonly Replay[]): number[] => replays.map(({ id }) => id);
    assert.deepEqual(
      ids(findReplaysOfMessage(store, asked.id)),
      ids([...own, ...all]),
      'the message that was asked about',
    );
    const sampled = request.alternatives.find(({ original }) => !original)?.message ?? 0;
    assert.deepEqual(
      ids(findReplaysOfMessage(store, sampled)),
      ids(all.filter(({ alternative }) => alternative === sampled)),
      'an alternative',
    );
    const [last] = all.slice(-1);
    assert.ok(last);
    assert.deepEqual(ids(findReplaysOfMessage(store, last.leaf)), [last.id], 'a continuation');
    const sibling =
      store.bucketView(asked.bucket ?? 0).alternatives.find(({ message }) => message !== asked.id)?.message ?? 0;
    assert.deepEqual(
      ids(findReplaysOfMessage(store, sibling)),
      ids(store.replaysOfBucket(asked.bucket ?? 0).filter(({ alternative }) => alternative === sibling)),
      'a sibling in the run, whose context the request shares',
    );
  });
});
