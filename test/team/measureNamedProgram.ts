/**
 * Tests if replacing the message that a search names saves more than replacing another one, for a recorded program of
 * LangGraph: `c3 bench named-messages` for a team that the bundled model answers and its own program continues.
 * Prints the figures as JSON.
 * Usage: node test/team/measureNamedProgram.ts [problems] [fresh messages in each place]
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureNamedMessages } from '../../src/bench/experiments/blame/namedMessages.ts';
import { EngineService } from '../../src/engine/service.ts';
import { generateSplit } from '../../src/tasks/split.ts';
import { PROGRAMS, recordProgram } from '../support/realPrograms.ts';
import { serveTeam } from '../support/served.ts';

const [problems = '512', fresh = '16'] = process.argv.slice(2);
const MODEL = 'c3-arithmetic';

const folder = mkdtempSync(join(tmpdir(), 'c3-named-program-'));
const served = await serveTeam(folder, 'arithmetic');
const service = new EngineService(join(folder, 'c3.sqlite'));
try {
  const { evaluation } = generateSplit({ seed: 'named-program', train: 0, evaluation: Number(problems) });
  const questions = join(folder, 'questions.json');
  writeFileSync(questions, JSON.stringify(evaluation.map(({ question, answer }) => ({ question, answer }))));
  const given = { main: 'many.mjs', args: [questions] };
  const { report } = await recordProgram(service, 'langGraph', given, { folder, served, model: MODEL });
  const team = join(folder, 'team.yaml');
  const driver = [process.execPath, join(PROGRAMS, 'langGraph', 'manyDriver.mjs'), questions];
  writeFileSync(
    team,
    JSON.stringify({ driver, policy: { endpoint: served.url, model_name: MODEL }, max_new_tokens: 48 }),
  );
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  const { signal } = new AbortController();
  console.log(
    JSON.stringify(await measureNamedMessages(service, { run: report.run, team }, Number(fresh), { signal, note })),
  );
} finally {
  await service.close();
  await served.close();
  rmSync(folder, { recursive: true, force: true });
}
