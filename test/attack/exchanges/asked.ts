/** Requests of an endpoint policy's client to a server that breaks off, garbles and floods. */

import assert from 'node:assert/strict';
import { EndpointClient } from '../../../src/policy/endpoint/client.ts';
import { EndpointFailure, Unanswered } from '../../../src/policy/endpoint/failure.ts';
import { Spending } from '../../../src/policy/endpoint/spending.ts';
import { NEVER } from '../../../src/shared/cancellation.ts';
import { HashedStream } from '../../../src/tasks/hashedStream.ts';
import { seed, type Tally } from '../harness.ts';
import { RawServer } from './rawServer.ts';
import { answerBytes, answerForm, faultIn, sentBytes, textOf, type Fault } from './said.ts';

const RETRIES = 2;
/** Milliseconds: a good answer comes sooner on a busy machine too. Who asks a server that stalls waits less. */
const TIME_LIMIT = 600_000;
const STALLED_LIMIT = 1500;
const FLOOD = 2 ** 20;
const DELUGE = 2 ** 26;
const DELUGES = 1 / 400;
/** Of the stalls, each of which takes as long as the time limit. */
const STALLS = 0.2;
const MOST = { prompt: 100, completion: 100 };

/** One server that is asked again and again. */
export class AskedLane {
  private readonly server = new RawServer();
  private readonly tally: Tally;
  private base = '';

  constructor(tally: Tally) {
    this.tally = tally;
  }

  async begin(): Promise<void> {
    this.base = await this.server.listen();
  }

  close(): void {
    this.server.close();
  }

  /** One request, of which some attempts fail. */
  async exchange(number: number): Promise<void> {
    const stream = new HashedStream(`asked ${seed()} ${number}`);
    const { name: api } = stream.pick([{ name: 'chat' }, { name: 'completions' }] as const);
    const form = answerForm(api, stream);
    const text = textOf(number, stream);
    const bytes = answerBytes(form, text);
    const faults = Array.from({ length: stream.integer(0, RETRIES + 1) }, () => milder(faultIn(bytes, stream), stream));
    const most = stream.chance(DELUGES) ? DELUGE : FLOOD;
    const sent = [...faults, null].map((fault) => sentBytes(bytes, fault, stream, most));
    const [last] = sent.slice(-1);
    assert.ok(last !== undefined);
    this.server.expect(number, { sent: (before) => sent[before] ?? last });
    const stalls = faults.filter(({ deed }) => deed === 'stall').length;
    const spending = new Spending({ tokens: null, money: null });
    const client = new EndpointClient({
      bases: [this.base],
      api,
      keyOf: () => null,
      concurrency: 1,
      perMinute: null,
      retries: RETRIES,
      timeLimit: stalls > 0 ? STALLED_LIMIT : TIME_LIMIT,
      spending,
      prices: { input: 0, output: 0 },
      servedAs: 'm',
      rests: { first: 1, most: 2 },
    });
    await this.tally.attempt(`request ${number}, ${JSON.stringify({ ...form, faults, most })}`, async () => {
      const body = { model: 'm', prompt: `exchange-${number}` };
      const asked = performance.now();
      const said = await client.ask(String(number), body, MOST, { signal: NEVER }).then(
        (reply) => reply.text,
        (error: unknown) => {
          assert.ok(error instanceof EndpointFailure || error instanceof Unanswered, String(error));
          return error;
        },
      );
      const isGarbled = faults.some(({ deed }) => deed === 'garbage' || deed === 'flood');
      if (typeof said === 'string') {
        assert.ok(said === text || isGarbled, `${JSON.stringify(said)} in the place of ${JSON.stringify(text)}`);
      } else {
        // On a busy machine another attempt than those that stall may be over before the server hears of it.
        const isLate = stalls > 0 && performance.now() - asked > (stalls + 1) * STALLED_LIMIT;
        const isUnheard = (this.server.asked.get(number) ?? 0) <= faults.length;
        assert.ok(isUnheard || isGarbled || isLate, said.message);
      }
    });
    this.server.forget(number);
  }
}

const milder = (fault: Fault, stream: HashedStream): Fault =>
  fault.deed === 'stall' && !stream.chance(STALLS) ? { ...fault, deed: 'cut' } : fault;
