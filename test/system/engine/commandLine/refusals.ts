/** What the command line refuses: one line, the right exit code, and everything as it was. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { HEADLINE_RULE } from '../../../../src/engine/recipe/headlines.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { c3, contentsOf, copyOf, type CommandOptions } from '../../../unit/engine/workspace.ts';
import { makeTeam } from '../../../unit/training/tinyTeam.ts';

export interface Refusal extends CommandOptions {
  readonly code: 1 | 2;
  readonly says: RegExp;
}

/** Runs a command that must fail with one line, and leave the folder as it was. */
export async function refuses(
  folder: string,
  args: readonly string[],
  { code, says, ...options }: Refusal,
): Promise<void> {
  const before = contentsOf(folder);
  const result = await c3(folder, args, options);
  const shown = `c3 ${args.join(' ')}\n${result.stderr}`;
  assert.equal(result.code, code, shown);
  assert.match(result.stderr, says, shown);
  assert.match(result.stderr, /^c3: [^\n]+\n$/, shown);
  assert.equal(result.stdout, '');
  assert.deepEqual(contentsOf(folder), before, shown);
}

export const RUN = ['run', 'tiny.c3.yaml'];
/** A store with a run that was done before, in .c3 of a workspace. */
export function oldStore(folder: string): string {
  const path = join(folder, '.c3', 'c3.sqlite');
  const store = openStoreForWriting(path, { headlines: HEADLINE_RULE });
  store.insertRun({
    id: 'old',
    method: 'c3',
    seed: 0,
    title: 'old',
    config: '{}',
    plannedSteps: 0,
    createdAt: '2026-01-01T00:00:00.000Z',
  });
  store.updateRunStatus('old', 'done', '2026-01-01T00:00:01.000Z', null);
  store.close();
  return path;
}

interface BrokenTeam {
  readonly says: RegExp;
  readonly breaking: (team: string) => void | Promise<void>;
}

/** What may be wrong with the folder of a team, and what is said of it. */
export const BROKEN_TEAMS = {
  'weights are missing': {
    says: /Cannot read .*model\.safetensors.*choose a folder with config\.json and model\.safetensors/,
    breaking: (team) => rmSync(join(team, 'model.safetensors')),
  },
  'weights are cut': {
    says: /model\.safetensors: tensor .* is truncated; copy the weights again/,
    breaking: (team) => truncateSync(join(team, 'model.safetensors'), 20_000),
  },
  'weights are cut in their header': {
    says: /model\.safetensors: the safetensors header is truncated/,
    breaking: (team) => truncateSync(join(team, 'model.safetensors'), 100),
  },
  'weights are empty': {
    says: /model\.safetensors: the file is too short/,
    breaking: (team) => truncateSync(join(team, 'model.safetensors'), 0),
  },
  'weights belong to another architecture': {
    says: /model\.safetensors: tensor model\.embed_tokens\.weight has shape \[\d+, 48\] where config\.json needs \[\d+, 32\]/,
    breaking: async (team) => {
      const config = readFileSync(join(team, 'config.json'));
      await makeTeam(team, { hiddenSize: 48, steps: 0 });
      writeFileSync(join(team, 'config.json'), config);
    },
  },
  'the architecture is unknown': {
    says: /config\.json: model_type: .*llama/,
    breaking: (team) => {
      const path = join(team, 'config.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('llama', 'gpt2'));
    },
  },
  'the tokenizer is missing': {
    says: /Cannot read .*tokenizer\.json/,
    breaking: (team) => rmSync(join(team, 'tokenizer.json')),
  },
  'the tokenizer knows more tokens than the model': {
    says: /tokenizer\.json has \d+ tokens where the model has \d+; put the model's own tokenizer there/,
    breaking: (team) => {
      const path = join(team, 'tokenizer.json');
      const parsed = JSON.parse(readFileSync(path, 'utf8')) as { model: { vocab: Record<string, number> } };
      const size = Object.keys(parsed.model.vocab).length;
      for (let extra = 0; extra < 50; extra++) {
        parsed.model.vocab[`extra${extra}`] = size + extra;
      }
      writeFileSync(path, JSON.stringify(parsed));
    },
  },
} as const satisfies Readonly<Record<string, BrokenTeam>>;

/** A broken team is refused where a store is, which stays as it was. */
export async function refusesBesideStore(
  t: TestContext,
  workspace: string,
  name: keyof typeof BROKEN_TEAMS,
): Promise<void> {
  const folder = copyOf(t, workspace);
  const { breaking, says }: BrokenTeam = BROKEN_TEAMS[name];
  await breaking(join(folder, 'team'));
  oldStore(folder);
  await refuses(folder, RUN, { code: 1, says });
}
