/** Programs with the real libraries: recorded, imported from their own files, forked through drivers, and credited. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import type { BucketView } from '../../../../src/domain/replay.ts';
import { diagnose } from '../../../../src/engine/diagnose/diagnose.ts';
import { readRunProtocol, readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { writeInferredTeam } from '../../../../src/logs/recordedEpisode.ts';
import { PROGRAMS, REAL_PROGRAMS, recordProgram, type RealProgram } from '../../../support/realPrograms.ts';
import { serveTeam, type Served } from '../../../support/served.ts';

/** Of the bundled task, in its own words: the team solves some and not others. */
const QUESTION =
  'Tim starts with 19 toys. Tim gives 7 toys to Ned. Then Tim finds 5 toys. How many toys does Tim have now?';
const ANSWER = '17';
const CONTROL = { signal: new AbortController().signal, onProgress: () => undefined };

let folder = '';
let served: Served;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'c3-programs-'));
  served = await serveTeam(folder, 'arithmetic');
});
after(async () => {
  await served.close();
  rmSync(folder, { recursive: true, force: true });
});

const policy = (): object => ({ endpoint: served.url, model_name: 'c3-arithmetic' });
const creditOf = ({ alternatives }: BucketView, text: string): { value: number; low: number; high: number } => {
  const found = alternatives.find((one) => one.text === text)?.bucketCredit;
  assert.ok(found !== undefined && found !== null && found.low !== null && found.high !== null);
  return { value: found.value, low: found.low, high: found.high };
};

/** The same team as a protocol of ours, with the plan among its alternatives; made once for all programs. */
const natives = new Map<string, Promise<BucketView>>();
function nativeOf(plan: string): Promise<BucketView> {
  const known = natives.get(plan) ?? asProtocol(plan, natives.size);
  natives.set(plan, known);
  return known;
}
async function asProtocol(plan: string, number: number): Promise<BucketView> {
  writeFileSync(join(folder, 'one.jsonl'), JSON.stringify({ question: QUESTION, answer: `#### ${ANSWER}$` }));
  const config = {
    steps: 0,
    evaluator: 'pattern',
    task: { train_file: 'one.jsonl', evaluation_file: 'one.jsonl', refuse_overlap: false },
    evaluation: { instances: 1 },
    policies: { reasoner: policy(), actor: policy() },
    device: { threads: 1 },
  };
  writeFileSync(join(folder, 'native.c3.yaml'), JSON.stringify(config));
  const service = new EngineService(join(folder, `native ${number}.sqlite`));
  try {
    const { run } = await service.run(await readRecipe('native.c3.yaml', [], folder), CONTROL);
    const message = service.reading((store) => {
      const [episode] = store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 });
      return store.chain(episode?.leaf ?? 0)[0]?.id ?? 0;
    });
    return await service.replay({ message, alternatives: 7, replays: 8, text: plan }, CONTROL);
  } finally {
    await service.close();
  }
}
const equal = (bucket: BucketView, native: BucketView, plan: string): void => {
  const [ours, theirs] = [creditOf(native, plan), creditOf(bucket, plan)];
  assert.ok(theirs.value >= ours.low && theirs.value <= ours.high, JSON.stringify({ ours, theirs }));
  assert.ok(ours.value >= theirs.low && ours.value <= theirs.high, JSON.stringify({ ours, theirs }));
};

/** @param places of the programs that are recorded */
export function testRealPrograms(places: readonly RealProgram[]): void {
  for (const { name, place, own, tools } of REAL_PROGRAMS.filter((one) => places.includes(one.place))) {
    it(`a team of ${name} is recorded, forked and credited as the same team is as a protocol`, async (t) => {
      const program = join(PROGRAMS, place);
      const file = join(folder, own ?? 'none');
      const service = new EngineService(join(folder, `${place}.sqlite`));
      t.after(() => service.close());
      const { report: recorded, ended } = await recordProgram(
        service,
        place,
        { args: [file, QUESTION] },
        { folder, served, model: 'c3-arithmetic' },
      );
      assert.equal(ended, 0);
      assert.deepEqual(recorded.speakers, [
        { name: 'planner', by: 'name', messages: 1 },
        { name: 'actor', by: 'name', messages: 1 },
      ]);
      const team = join(folder, 'team.yaml');
      const driver = [process.execPath, join(program, 'driver.mjs'), ANSWER];
      const textOf = (id: number): string => service.reading((store) => store.fullMessage(id).text);
      if (own !== null) {
        const imported = await service.importLog({ path: file, maskSecrets: false }, CONTROL.signal);
        assert.deepEqual(imported.speakers, recorded.speakers);
        assert.deepEqual([textOf(3), textOf(4)], [textOf(1), textOf(2)]);
      }

      const plan = textOf(1);
      const native = await nativeOf(plan);
      writeFileSync(team, JSON.stringify({ driver, policy: policy(), max_new_tokens: 48 }));
      const forked = await service.replay({ message: 1, alternatives: 7, replays: 8, text: null, team }, CONTROL);

      if (own !== null) {
        // What it wrote itself is forked in the same way; checkpoints have the state, and not what was asked.
        const once = { message: 3, alternatives: 1, replays: 1, text: null, team };
        if (place === 'langGraph') {
          await assert.rejects(service.replay(once, CONTROL), { message: /contexts: program in the team file/u });
          const states = { driver, policy: policy(), max_new_tokens: 48, contexts: 'program' };
          writeFileSync(team, JSON.stringify(states));
        }
        const bucket = await service.replay(once, CONTROL);
        assert.deepEqual(
          bucket.alternatives.map(({ returns }) => returns.length),
          [1, 1],
        );
      }
      if (tools.length === 0) {
        // The same without the program, by what its log shows of it.
        const steps = service.reading((store) =>
          writeInferredTeam(store, 1, { endpoint: served.url, model: 'c3-arithmetic' }),
        );
        const right = `evaluator: pattern\nanswer: '#### ${ANSWER}$'\nmax_new_tokens: 48`;
        writeFileSync(
          team,
          steps.replace('evaluator: exact', () => right),
        );
        equal(
          await service.replay({ message: 1, alternatives: 7, replays: 8, text: null, team }, CONTROL),
          native,
          plan,
        );
      }

      // What is not known is refused: without a program, and with one that asks otherwise.
      const asked = { message: 1, alternatives: 1, replays: 1, text: null };
      await assert.rejects(service.replay(asked, CONTROL), { message: /Give --team FILE/u });
      const other = join(folder, 'other.yaml');
      const otherDriver = [process.execPath, join(PROGRAMS, 'callsDriver.mjs')];
      writeFileSync(other, JSON.stringify({ driver: otherDriver, policy: policy() }));
      await assert.rejects(service.replay({ ...asked, team: other }, CONTROL), {
        message:
          /the program asks planner with another context than the recorded one; .*contexts: program in the team file\./u,
      });

      equal(forked, native, plan);
      // Some of the returns are won and others lost, so that it is a comparison of something.
      const returns = new Set(forked.alternatives.flatMap((one) => one.returns));
      assert.deepEqual([...returns].toSorted(), [0, 1]);
      assert.equal(forked.alternatives.length, 8);
      const events = service.reading((store) => {
        const [replay] = store.replaysOfBucket(forked.id);
        return store.environmentEvents(replay?.leaf ?? 0, 'before').map(({ event }) => event.source);
      });
      assert.deepEqual(events, tools);
      // The headline of the recorded message is that of these replays, as in a run of ours.
      const headline = service.reading((store) => store.message(1).credit);
      assert.ok(headline !== null && headline.n > 0);
      const { run: recordedRun } = recorded;
      const measured = service.reading((store) =>
        diagnose(store, recordedRun, {
          origin: 'request',
          estimator: 'loo',
          protocol: readRunProtocol(store, recordedRun),
        }),
      );
      assert.ok(measured.variance !== null && measured.variance.value > 0);
      const settings = { contexts: 1, alternatives: 2, replays: 1, valueSamples: 1, role: null, seed: 0 };
      await assert.rejects(async () => service.sampleDiagnostics(recordedRun, settings, CONTROL), {
        message: /--origin request/u,
      });
      // What servers said is not executed again, and says so.
      const report = await service.verifyMessage(1, { ...CONTROL, again: false });
      assert.ok(report.checked > 0);
      assert.equal(report.notComparable, report.checked);
    });
  }
}
