/**
 * Longer episodes of programs with the real libraries, forked in the middle through their drivers: a message with
 * others before and after it is worth what it is worth in the same team as a protocol.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import type { BucketView } from '../../../../../src/domain/replay.ts';
import { readRecipe } from '../../../../../src/engine/recipe/recipe.ts';
import { EngineService } from '../../../../../src/engine/service.ts';
import { gradeChain, parseChain } from '../../../../../src/evaluate/chain.ts';
import { PROGRAMS, REAL_PROGRAMS, recordProgram, type RealProgram } from '../../../../support/realPrograms.ts';
import { serveTeam, type Served } from '../../../../support/served.ts';

const ROLES = ['first', 'second', 'third', 'fourth'];
/** F, G, H, J is a solution; with L as the third letter there is none. */
const RULE = 'hain of 4, ring of 16: from E to J by 1 2 5 without M N';
const HOPELESS = 'L';
const [QUESTION, ANSWER] = [`C${RULE}`, `c${RULE}`];
const KEY = parseChain(ANSWER) ?? assert.fail();
/** Credit is against the siblings that were drawn: enough of them that two draws are alike. */
const SAMPLES = { alternatives: 32, replays: 24 };
/** Where no credit is compared. */
const FEW = { alternatives: 4, replays: 3 };
const CONTROL = { signal: new AbortController().signal, onProgress: () => undefined };
/** How far two estimates of one credit may be apart. */
const MOST_APART = 0.25;

/** The messages up to the one that is forked. */
type Said = readonly [string, string, string];

interface Measured {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

function creditOf({ alternatives }: BucketView, text: string): Measured {
  const credit = alternatives.find((one) => one.text === text)?.bucketCredit;
  assert.ok(credit !== undefined && credit !== null && credit.low !== null && credit.high !== null);
  const { value, low, high, n } = credit;
  return { value, low, high, n };
}

/** A folder with a server of the team. */
interface Place {
  readonly folder: string;
  readonly served: Served;
}
const policyOf = ({ served }: Place): object => ({ endpoint: served.url, model_name: 'c3-chain' });

/** The weights in this process, or those of the server that the programs ask. */
type Answerer = 'here' | 'served';

/** A third message as a protocol of ours, with the weights here or with the same server. */
async function asProtocol(place: Place, [first, second, third]: Said, of: Answerer): Promise<BucketView> {
  const { folder } = place;
  const policy = policyOf(place);
  writeFileSync(join(folder, 'one.jsonl'), JSON.stringify({ question: QUESTION, answer: ANSWER }));
  const config = {
    steps: 0,
    evaluator: 'chain',
    task: { name: 'chain', roles: 4, train_file: 'one.jsonl', evaluation_file: 'one.jsonl', refuse_overlap: false },
    evaluation: { instances: 1 },
    policies: {
      first: { answers: [{ answer: first }] },
      second: { answers: [{ answer: second }] },
      ...(of === 'served' && { third: policy, fourth: policy }),
    },
    device: { threads: 1 },
  };
  writeFileSync(join(folder, 'native.c3.yaml'), JSON.stringify(config));
  const service = new EngineService(join(folder, `${of}.sqlite`));
  try {
    const { run } = await service.run(await readRecipe('native.c3.yaml', [], folder), CONTROL);
    const message = service.reading((store) => {
      const [episode] = store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 });
      return store.chain(episode?.leaf ?? 0)[2]?.id ?? 0;
    });
    return await service.replay({ message, ...SAMPLES, text: third }, CONTROL);
  } finally {
    await service.close();
  }
}
/**
 * A test for each real program, and for the file that it writes of its own.
 * @param compared the programs whose credit is compared with that of the protocol; the replays of the others are fewer
 * @param answerers what answers for the later roles of the protocol
 */
function testMiddleMessages(compared: readonly RealProgram[], answerers: readonly Answerer[]): void {
  let folder = '';
  let served: Served;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'c3-middle-'));
    served = await serveTeam(folder, 'chain');
  });
  after(async () => {
    await served.close();
    rmSync(folder, { recursive: true, force: true });
  });
  // Made once: all programs say the same, by the same seeds.
  const natives = new Map<string, Promise<readonly BucketView[]>>();
  const asProtocols = async (said: Said): Promise<readonly BucketView[]> => {
    const made: BucketView[] = [];
    for (const of of answerers) {
      made.push(await asProtocol({ folder, served }, said, of));
    }
    return made;
  };
  const nativesOf = (said: Said): Promise<readonly BucketView[]> => {
    const key = said.join(' ');
    const known = natives.get(key) ?? asProtocols(said);
    natives.set(key, known);
    return known;
  };
  for (const { name, place, own, tools } of REAL_PROGRAMS) {
    const isCompared = compared.includes(place);
    const samples = isCompared ? SAMPLES : FEW;
    const what = isCompared ? 'has the credit that it has in the same team as a protocol' : 'is forked and scored';
    it(`a middle message of ${name} ${what}`, async (t) => {
      const program = join(PROGRAMS, place);
      const file = join(folder, own ?? 'none');
      const service = new EngineService(join(folder, `${place}.sqlite`));
      t.after(() => service.close());
      const { ended } = await recordProgram(
        service,
        place,
        { args: [file, QUESTION, 'chain'] },
        { folder, served, model: 'c3-chain' },
      );
      assert.equal(ended, 0);
      const episodes = [4];
      if (own !== null) {
        await service.importLog({ path: file, maskSecrets: false }, CONTROL.signal);
        episodes.push(8);
      }
      for (const last of episodes) {
        const said = service.reading((store) => store.chain(last));
        assert.deepEqual(
          said.map(({ role }) => role),
          ROLES,
        );
        const [first, second, third] = said;
        assert.ok(first !== undefined && second !== undefined && third !== undefined);
        const team = join(folder, 'team.yaml');
        // The evaluator scores what the program ends with.
        const driver = [process.execPath, join(program, 'driver.mjs'), '-', 'chain'];
        const scored = {
          driver,
          policy: policyOf({ folder, served }),
          evaluator: 'chain',
          answer: ANSWER,
          max_new_tokens: 3,
        };
        // Checkpoints have the state, and not what was asked.
        const isState = place === 'langGraph' && last !== 4;
        writeFileSync(team, JSON.stringify({ ...scored, ...(isState && { contexts: 'program' }) }));
        const forked = await service.replay({ message: third.id, ...samples, text: null, team }, CONTROL);

        for (const bucket of isCompared ? await nativesOf([first.text, second.text, third.text]) : []) {
          const credit = creditOf(forked, third.text);
          const native = creditOf(bucket, third.text);
          const shown = JSON.stringify({ forked: credit, native });
          t.diagnostic(`message ${third.id}: ${shown}`);
          assert.ok(credit.low <= native.high && native.low <= credit.high, shown);
          assert.ok(Math.abs(credit.value - native.value) <= MOST_APART, shown);
          // It is a comparison of something: what leads nowhere is worth less by either, and clearly less than nothing.
          for (const one of [bucket, forked]) {
            const hopeless = creditOf(one, HOPELESS);
            assert.ok(hopeless.high < 0 && hopeless.value < Math.min(credit.value, native.value), shown);
          }
        }
        // Before it is what was recorded, and after it the whole rest of the episode is played.
        const played = service.reading((store) =>
          store.replaysOfBucket(forked.id).map(({ leaf, return: value }) => {
            const chain = store.chain(leaf);
            const events = chain.flatMap(({ id }) => store.environmentEvents(id, 'before'));
            return { chain, value, events: events.map(({ event }) => event.source) };
          }),
        );
        assert.equal(played.length, (samples.alternatives + 1) * samples.replays);
        for (const { chain, value, events } of played) {
          assert.deepEqual([chain[0]?.id, chain[1]?.id], [first.id, second.id]);
          assert.equal(chain.length, ROLES.length);
          assert.deepEqual(events, tools);
          assert.equal(value, gradeChain(KEY, chain.map(({ text }) => text).join(', ')).score);
        }
      }
    });
  }
}

testMiddleMessages(
  REAL_PROGRAMS.map(({ place }) => place),
  ['served', 'here'],
);
