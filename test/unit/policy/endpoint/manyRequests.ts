/** Many requests at once to servers that misbehave, and what tests of the client share. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { EndpointClient, type ClientSettings } from '../../../../src/policy/endpoint/client.ts';
import { Spending } from '../../../../src/policy/endpoint/spending.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import {
  answersSlowly,
  answersWell,
  badServer,
  FAULTS,
  promptOf,
  type BadServer,
  type Behaviour,
} from './badServer.ts';

export const UNLIMITED = { tokens: null, money: null };
export const MOST = { prompt: 8, completion: 8 };

export const clientOf = (bases: readonly string[], more: Partial<ClientSettings> = {}): EndpointClient =>
  new EndpointClient({
    bases,
    api: 'completions',
    keyOf: () => null,
    concurrency: 32,
    perMinute: null,
    retries: 6,
    timeLimit: 500,
    spending: new Spending(UNLIMITED),
    prices: { input: 0, output: 0 },
    rests: { first: 1, most: 4 },
    ...more,
  });
export const ask = (client: EndpointClient, prompt: string): Promise<string> =>
  client.ask(prompt, { prompt }, MOST, { signal: NEVER }).then(({ text }) => text);

/** A server of which every prompt first meets one fault after the other, by its number. */
const faulty = (server: BadServer): Behaviour => {
  const faults = Object.values(FAULTS).filter((fault) => fault !== FAULTS['no answer at all']);
  const [well, slowly] = [answersWell(server), answersSlowly(server)];
  return (response, asked) => {
    const number = Number(promptOf(asked));
    const kinds = number % (faults.length + 1);
    const fault = asked.before < kinds % 4 ? faults[(number + asked.before) % faults.length] : undefined;
    return (fault ?? (number % 9 === 0 ? slowly : well))(response, asked);
  };
};

/** An address at which nothing listens. */
async function deadBase(t: TestContext): Promise<string> {
  const server = await badServer(t, answersWell);
  server.close();
  return server.base;
}

/** @param count requests at once */
export function manyRequests(count: number): void {
  describe(`${count} requests`, () => {
    it('are each answered once with their own answer, whatever goes wrong, one of three addresses being dead', async (t) => {
      const servers = [await badServer(t, faulty), await badServer(t, faulty)];
      const spending = new Spending(UNLIMITED);
      const bases = [...servers.map(({ base }) => base), await deadBase(t)];
      const client = clientOf(bases, { spending, concurrency: 16, retries: 9, timeLimit: 60_000 });
      const prompts = Array.from({ length: count }, (_, index) => String(index));
      const got = await Promise.all(prompts.map((prompt) => ask(client, prompt)));
      assert.deepEqual(
        got,
        prompts.map((prompt) => `echo ${prompt}`),
      );
      const answered = prompts.map((prompt) =>
        servers.reduce((total, server) => total + (server.answered.get(prompt) ?? 0), 0),
      );
      assert.ok(answered.every((count) => count === 1));
      assert.ok(servers.every(({ most }) => most <= 16));
      assert.ok(servers.every((server) => server.answered.size > count / 10));
      assert.ok(spending.spent.calls >= count);
    });
  });
}
