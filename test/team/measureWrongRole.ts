/**
 * Whether a role that is always wrong is found: the voter of another task answers for one role of the arithmetic team.
 * `c3 blame --run` should say that the team rarely solves these problems, and `c3 try --each-role` which role's
 * replacement by the bundled weights saves them. Prints a line of JSON for each run.
 * Usage: node test/team/measureWrongRole.ts [seeds] [problems] [calls for each lost episode]
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { runForJson } from './runForJson.ts';

const [seeds = '10', problems = '100', calls = '32'] = process.argv.slice(2);
const OTHER = join(import.meta.dirname, '../../media/team-logic-small');
const ROLES = ['reasoner', 'actor'] as const;

const interval = z.looseObject({ value: z.number(), low: z.number().nullable(), high: z.number().nullable() });
const runSchema = z.looseObject({ run: z.string() });
const blameSchema = z.looseObject({ lost: z.int(), rarelySolved: z.int(), undecided: z.int(), sentence: z.string() });
const trySchema = z.looseObject({
  roles: z.array(z.looseObject({ role: z.string(), difference: interval })),
  sentence: z.string(),
});

const folder = mkdtempSync(join(tmpdir(), 'c3-wrong-'));

try {
  for (const role of ROLES) {
    for (let seed = 0; seed < Number(seeds); seed++) {
      const overrides = [
        'steps=0',
        `evaluation.instances=${problems}`,
        `policies={${role}: {model: ${JSON.stringify(OTHER)}}}`,
        `seed=${seed}`,
      ];
      const { run } = runSchema.parse(await runForJson(folder, ['run', '--override', ...overrides]));
      const budget = String(Number(calls) * Number(problems));
      const { lost, rarelySolved, undecided, sentence } = blameSchema.parse(
        await runForJson(folder, ['blame', '--run', run, '--budget', budget]),
      );
      const tried = trySchema.parse(
        await runForJson(folder, ['try', '--run', run, '--each-role', '--with', '0', '--lost']),
      );
      const roles = tried.roles.map(({ role: name, difference }) => ({ role: name, ...difference }));
      console.log(
        JSON.stringify({ role, seed, lost, rarelySolved, undecided, sentence, roles, tried: tried.sentence }),
      );
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
