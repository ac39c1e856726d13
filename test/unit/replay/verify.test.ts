import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { answerEvaluator } from '../../../src/evaluate/evaluator.ts';
import { LocalPolicy, type Policy } from '../../../src/policy/policy.ts';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import { replayMessage } from '../../../src/replay/request.ts';
import { verifyReplays, type PolicyLender, type VerificationReport } from '../../../src/replay/verify.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import type { Replay } from '../../../src/shared/records.ts';
import { loadSqlite } from '../../../src/store/sqlite.ts';
import { runSampling, readConfig } from '../../../src/training/config.ts';
import { LOO } from './helpers.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../training/tinyRun.ts';
import { PAIR } from '../training/tinyTeam.ts';

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
  readonly lend: PolicyLender;
  readonly check: (replays?: readonly Replay[], lend?: PolicyLender, cancelled?: () => boolean) => Promise<VerificationReport>;
}

/** A run of two steps with a typed replay request, and a runtime to check it with. */
async function scene(t: TestContext): Promise<Scene> {
  const run = await tinyWorld(t, team.folder);
  await run.start({ overrides: ['evaluation.instances=0', 'instances_per_step=2'], evaluation: [] });
  const { store, host } = run;
  const tokenizer = await loadTokenizer(team.folder);
  const lend: PolicyLender = async (snapshot, work) => {
    if (!(await host.snapshots()).includes(snapshot)) {
      const file = store.snapshots(snapshot)[0]?.file;
      if (typeof file !== 'string') return work(`no weights of ${snapshot}`);
      await host.loadSnapshot(file);
    }
    return work(new LocalPolicy(host, tokenizer, snapshot));
  };
  const message = store.bucketsOfRun({ run: 'run-1', offset: 0, limit: 1 })[0]?.alternatives[1]?.decision ?? 0;
  await lend(store.message(message).snapshot, (policy) => {
    if (typeof policy === 'string') throw new Error(policy);
    const sampling = { ...runSampling(readConfig('', '')), maxNewTokens: 6 };
    return replayMessage(
      { message, alternatives: 2, replays: 2, text: '2+2' },
      { store, protocol: PAIR, policy, evaluator: answerEvaluator, sampling, seed: 0, returnBound: 10, credit: LOO },
      { cancelled: () => false, onProgress: () => undefined },
    );
  });
  const replays = store.replaysOfRun('run-1', 0, 1000);
  return { run, replays, lend, check: (some = replays, from = lend, cancelled = () => false) => verifyReplays(store, some, from, cancelled) };
}

/** Does what another program could do to a row. */
function tamper({ run }: Scene, ...statements: readonly string[]): void {
  const db = new (loadSqlite())(run.store.path);
  for (const statement of statements) db.exec(statement);
  db.close();
}

describe('verifyReplays', () => {
  it('finds training trees and requests of two snapshots identical on the real runtime', async (t) => {
    const { run, replays, check } = await scene(t);
    // Two steps of two instances with 8 + 8 replays, and a request of four alternatives.
    assert.equal(replays.length, 2 * 2 * 16 + 4 * 2);
    assert.equal(new Set(replays.map(({ bucket }) => run.store.bucket(bucket).snapshot)).size, 2);
    assert.deepEqual(await check(), { checked: 72, identical: 72, different: 0, notComparable: 0, firstDifference: null });
    for (const { id, environment } of replays) {
      assert.deepEqual(run.store.verifications(id).map((one) => [one.result, one.environment]), [['identical', environment]]);
    }
    assert.ok(run.store.bucketsOfRun({ run: 'run-1', offset: 0, limit: 100 }).every(({ alternatives }) => alternatives.every(({ verified }) => verified === true)));
  });

  it('names the message and the token of a row that was changed', async (t) => {
    const here = await scene(t);
    const { run, replays, check } = here;
    const victim = replays.find(({ leaf }) => run.store.decision(leaf).tokens.length >= 3)?.leaf ?? assert.fail('no long message');
    const tokens = run.store.decision(victim).tokens;
    tokens[2] = (tokens[2] ?? 0) + 1;
    const hex = Buffer.from(tokens.buffer).toString('hex');
    tamper(here, 'DROP TRIGGER decision_no_update', `UPDATE decision SET tokens = x'${hex}' WHERE id = ${victim}`);
    const affected = replays.filter(({ leaf }) => leaf === victim);
    const report = await check();
    assert.deepEqual([report.different, report.identical, report.notComparable], [affected.length, 72 - affected.length, 0]);
    assert.deepEqual(report.firstDifference, { replay: affected[0]?.id, message: victim, token: 2, detail: `message ${victim} differs at token 2` });
    for (const { id } of affected) assert.equal(run.store.verifications(id)[0]?.result, 'different');
  });

  it('finds a message that was cut or lengthened at the first token that is not there', async (t) => {
    const here = await scene(t);
    const { run, replays, check } = here;
    const victim = replays[0]?.leaf ?? 0;
    const { tokens } = run.store.decision(victim);
    tamper(here, 'DROP TRIGGER decision_no_update', `UPDATE decision SET tokens = substr(tokens, 1, ${4 * (tokens.length - 1)}) WHERE id = ${victim}`);
    assert.equal((await check(replays.slice(0, 1))).firstDifference?.token, tokens.length - 1);
  });

  it('notices a changed row also where nothing can be executed', async (t) => {
    const here = await scene(t);
    const { replays, check } = here;
    const victim = replays[0]?.leaf ?? 0;
    tamper(here, 'DROP TRIGGER decision_no_update', `UPDATE decision SET tokens = x'07000000' WHERE id = ${victim}`);
    const report = await check(replays.slice(0, 1), (_, work) => work('The weights are gone.'));
    assert.equal(report.different, 1);
    assert.match(report.firstDifference?.detail ?? '', /row was changed/);
    // Tokens and their own hash changed together: the hash of the replay still tells.
    tamper(here, 'DROP TRIGGER replay_no_update', `UPDATE replay SET token_hash = '${'0'.repeat(64)}' WHERE id = ${replays[1]?.id ?? 0}`);
    assert.match((await check(here.run.store.replaysOfRun('run-1', 1, 1))).firstDifference?.detail ?? '', /do not have its hash/);
  });

  it('compares nothing across numeric environments, and says which part differs', async (t) => {
    const { run, lend, check } = await scene(t);
    const elsewhere: PolicyLender = (snapshot, work) =>
      lend(snapshot, (policy) => {
        if (typeof policy === 'string') return work(policy);
        const moved: Policy = { snapshot, environment: { ...policy.environment, threads: 7, device: 'another processor' }, answer: () => assert.fail('nothing is executed'), typed: () => assert.fail('nothing is executed') };
        return work(moved);
      });
    const report = await check(undefined, elsewhere);
    assert.deepEqual([report.notComparable, report.identical, report.different, report.firstDifference], [72, 0, 0, null]);
    assert.match(run.store.verifications(1)[0]?.detail ?? '', /^other numeric environment: device .+, now another processor; threads 1, now 7$/);
    assert.ok(run.store.bucketView(1).alternatives.every(({ verified }) => verified === null));
  });

  it('gives the reason where weights are missing', async (t) => {
    const { run, lend, check } = await scene(t);
    const trained = run.store.snapshotsOfRun('run-1').filter(({ file }) => file !== null);
    for (const { id, file } of trained) {
      rmSync(file ?? '');
      await run.host.releaseSnapshot(id);
    }
    const gone: PolicyLender = async (snapshot, work) => lend(snapshot, work).catch((error: unknown) => work(error instanceof Error ? error.message : ''));
    const report = await check(undefined, gone);
    // The first step's behaviour policy is the base, whose folder is still there.
    assert.deepEqual([report.identical, report.notComparable, report.different], [32 + 8, 32, 0]);
    assert.match(run.store.verifications(33)[0]?.detail ?? '', /^Cannot read .+; choose a folder/);
  });

  it('keeps what it found before a cancel', async (t) => {
    const { run, check } = await scene(t);
    let asked = 0;
    const lateCancel = (): boolean => {
      asked++;
      return run.store.verifications(1).length > 0;
    };
    await assert.rejects(check(undefined, undefined, lateCancel), CancelledError);
    assert.ok(asked > 0);
    assert.deepEqual([run.store.verifications(1).length, run.store.verifications(33).length], [1, 0]);
  });
});
