/**
 * Whether a run says which role loses its episodes where that is known: every second message of one role of the
 * arithmetic team is drawn at temperature 2. A server answers for that role, and its requests are changed on their way
 * while the evaluation goes on; `c3 blame --run` then asks the role as it is. Prints a line of JSON for each run.
 * Usage: node test/team/measurePerturbed.ts [seeds] [problems] [calls for each lost episode]
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { nameKeyVariable } from '../../src/shared/endpointKeys.ts';
import { serveTeam } from '../support/served.ts';
import { runForJson } from './runForJson.ts';

const [seeds = '10', problems = '200', calls = '32'] = process.argv.slice(2);
const ROLES = ['reasoner', 'actor'] as const;
const HOT = 2;
/** The smallest budget that reaches an episode of two messages: it says how many were lost. */
const LEAST = '3';
const HOP_BY_HOP = ['host', 'connection', 'content-length', 'transfer-encoding'];

const blameSchema = z.looseObject({
  lost: z.int(),
  withinReach: z.looseObject({ value: z.number() }),
  roles: z.array(
    z.looseObject({
      role: z.string(),
      episodes: z.int(),
      share: z.object({ value: z.number(), low: z.number().nullable(), high: z.number().nullable() }),
    }),
  ),
  sentence: z.string(),
});

const folder = mkdtempSync(join(tmpdir(), 'c3-perturbed-'));
const served = await serveTeam(folder, 'arithmetic');
/** Messages of the evaluation; null while nothing is changed. */
let messages: number | null = null;

const proxy = createServer((request, response) => {
  void (async () => {
    const body = await buffer(request);
    const headers = Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value !== 'string' || HOP_BY_HOP.includes(name) ? [] : [[name, value]],
      ),
    );
    const isHot = messages !== null && request.method === 'POST' && body.includes('Problem:') && messages++ % 2 === 1;
    const sent = isHot
      ? JSON.stringify({ ...(JSON.parse(body.toString()) as object), temperature: HOT })
      : Uint8Array.from(body);
    const answer = await fetch(new URL(request.url ?? '', served.url), {
      method: request.method ?? 'GET',
      headers,
      ...(request.method === 'POST' && { body: sent }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  })().catch(() => response.destroy());
});
proxy.listen(0, '127.0.0.1');
await once(proxy, 'listening');
const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1`;
process.env[nameKeyVariable(address) ?? ''] = served.key;

try {
  for (const role of ROLES) {
    for (let seed = 0; seed < Number(seeds); seed++) {
      messages = 0;
      const { run } = z
        .looseObject({ run: z.string() })
        .parse(
          await runForJson(folder, [
            'run',
            '--override',
            'steps=0',
            `evaluation.instances=${problems}`,
            `policies={${role}: {endpoint: "${address}", model_name: c3-arithmetic, api: completions}}`,
            `seed=${seed}`,
          ]),
        );
      const asked = messages;
      messages = null;
      const first = blameSchema.parse(await runForJson(folder, ['blame', '--run', run, '--budget', LEAST]));
      const found = blameSchema.parse(
        await runForJson(folder, ['blame', '--run', run, '--budget', String(Number(calls) * first.lost)]),
      );
      const { lost, withinReach, roles, sentence } = found;
      const result = { role, seed, messages: asked, lost, withinReach: withinReach.value, roles, sentence };
      console.log(JSON.stringify(result));
    }
  }
} finally {
  proxy.close();
  proxy.closeAllConnections();
  await served.close();
  rmSync(folder, { recursive: true, force: true });
}
