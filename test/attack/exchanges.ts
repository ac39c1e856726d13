/**
 * Exchanges with servers and programs that reset, cut, garble and flood at every class of bytes: none ends what serves
 * them, none is lost without a count, and nothing is left open.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { EngineService } from '../../src/engine/service.ts';
import { AskedLane } from './exchanges/asked.ts';
import { RecordedLane } from './exchanges/recorded.ts';
import { settled } from './exchanges/settled.ts';
import { SpansLane } from './exchanges/spans.ts';
import { tally } from './harness.ts';

/** How many exchanges are tried. */
export interface ExchangeSizes {
  readonly recorded: number;
  readonly asked: number;
  readonly spans: number;
}

/** Recordings beside each other, and exchanges of one. */
const LANES = 8;
const EACH = 100;

const exchanges = tally('exchanges with hostile servers and programs');

let folder = '';
let service: EngineService | undefined;

/** What is open in this process, by kind. */
const openNow = (): string =>
  process
    .getActiveResourcesInfo()
    .filter((kind) => /^(?:TCP|Timeout|TLS|Process|ConnectWrap)/u.test(kind))
    .sort()
    .join(', ');

/** What exchanges of one kind are made by, one after another. */
interface Lane {
  readonly begin: () => Promise<void>;
  readonly exchange: (number: number) => Promise<void>;
  /** Lets all connections go, and compares what is stored. */
  readonly end: () => Promise<void>;
}

/** Makes exchanges in some lanes beside each other; nothing is open afterwards that was not before. */
async function inLanes(count: number, laneOf: () => Lane): Promise<void> {
  const open = openNow();
  let number = 0;
  const one = async (): Promise<void> => {
    while (number < count) {
      const lane = laneOf();
      await lane.begin();
      try {
        for (let done = 0; done < EACH && number < count; done++) {
          await lane.exchange(number++);
        }
      } catch (error) {
        // The other lanes end, too.
        number = count;
        throw error;
      } finally {
        await lane.end();
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, one));
  await exchanges.attempt('nothing is left open', async () =>
    assert.ok(await settled(() => openNow() === open), `${openNow()} in the place of ${open}`),
  );
}

export function exchangeAttacks({ recorded, asked, spans }: ExchangeSizes): void {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'c3-exchanges-'));
    service = new EngineService(join(folder, 'c3.sqlite'));
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const place = (): EngineService => service ?? assert.fail('no store');

  describe('hostile servers and programs', () => {
    it(`${recorded} recorded exchanges are stored or counted`, () =>
      inLanes(recorded, () => {
        const lane = new RecordedLane(place(), folder, exchanges);
        return {
          begin: () => lane.begin(),
          exchange: (number) => lane.exchange(number),
          end: async () => {
            const { run, messages } = await lane.end();
            lane.check(textsOf(place(), run), messages);
          },
        };
      }));

    it(`${asked} requests of a policy are answered, or failed with a reason`, () =>
      inLanes(asked, () => {
        const lane = new AskedLane(exchanges);
        return {
          begin: () => lane.begin(),
          exchange: (number) => lane.exchange(number),
          end: () => {
            lane.close();
            return Promise.resolve();
          },
        };
      }));

    it(`${spans} batches of spans are stored or counted`, () =>
      inLanes(spans, () => {
        const lane = new SpansLane(place(), folder, exchanges);
        return {
          begin: () => lane.begin(),
          exchange: (number) => lane.exchange(number),
          end: async () => {
            const recorded = await lane.end();
            lane.check(textsOf(place(), recorded.report.run), recorded);
          },
        };
      }));
  });
}

/** The texts of the messages of a run: each begins and ends with a word of all, and one of them is never garbled. */
const textsOf = (place: EngineService, run: string): readonly string[] =>
  place.reading((store) => {
    const ids = ['planted', 'end'].flatMap((word) => store.searchIds(run, word, 10 * EACH));
    return store.messages([...new Set(ids)]).map(({ text }) => text);
  });
