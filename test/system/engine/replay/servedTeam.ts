/** A team that `c3 serve` answers for, as long as the tests of a file run. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { z } from 'zod';
import { EndpointClient } from '../../../../src/policy/endpoint/client.ts';
import { Spending } from '../../../../src/policy/endpoint/spending.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { finished, makeWorkspace, startC3 } from '../../../unit/engine/workspace.ts';

export const KEY = 'sk-c3-secret-of-the-test-0123456789';
export let workspace = '';
let server: ReturnType<typeof startC3>;
export let base = '';

before(async () => {
  workspace = await makeWorkspace();
  process.env['C3_SERVE_TOKEN'] = KEY;
  server = startC3(workspace, ['serve', '--model', 'team', '--json']);
  const ended = finished(server).then(({ stderr }): never => {
    throw new Error(stderr);
  });
  ended.catch(() => undefined);
  const [line] = (await Promise.race([once(server.stdout, 'data'), ended])) as [Buffer];
  base = z.looseObject({ url: z.string() }).parse(JSON.parse(line.toString())).url;
  process.env[`C3_KEY_127_0_0_1_${new URL(base).port}`] = KEY;
});
after(async () => {
  server.kill('SIGINT');
  await once(server, 'close');
  rmSync(workspace, { recursive: true, force: true });
});

/**
 * @param count requests at once
 * @param apart one of so many is asked alone as well
 */
export function servedAtOnce(count: number, apart: number): void {
  it(`${count} requests to c3 serve at once: each has the answer that it has alone`, async () => {
    const spending = new Spending({ tokens: null, money: null });
    const client = new EndpointClient({
      bases: [base],
      api: 'completions',
      keyOf: () => KEY,
      concurrency: 64,
      perMinute: null,
      retries: 3,
      timeLimit: 120_000,
      spending,
      prices: { input: 0, output: 0 },
    });
    const ask = (number: number): Promise<string> =>
      client
        .ask(
          String(number),
          { model: 'team', prompt: `What is ${number} + ${number % 7}?`, max_tokens: 8, seed: number },
          { prompt: 64, completion: 8 },
          { signal: NEVER },
        )
        .then(({ text }) => text);
    const numbers = Array.from({ length: count }, (_, number) => number);
    const together = await Promise.all(numbers.map(ask));
    assert.equal(spending.spent.calls, count);
    assert.ok(new Set(together).size > 8, 'seeds and prompts give answers of their own');
    for (const number of numbers.filter((one) => one % apart === 0)) {
      assert.equal(await ask(number), together[number]);
    }
  });
}
