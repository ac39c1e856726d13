/** Replaces one policy of a trained team: directly, or after stage 0 (TeamTR reference section 7). */

import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Replacement } from '../../domain/run.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { C3Error } from '../../shared/errors.ts';
import { alignPolicy, chooseExactAnchor } from '../../training/align.ts';
import { getRunAdapter, getRunSampling } from '../../training/config/config.ts';
import type { LoadedModel } from '../models/models.ts';
import type { PreparedRun } from './prepareRun.ts';
import { measureSwapShock } from './swapShock.ts';
import type { TeamEpisodes } from './teamEpisodes.ts';

/** Files of an adapter in PEFT's layout. */
const ADAPTER_CONFIG = 'adapter_config.json';
const ADAPTER_WEIGHTS = 'adapter_model.safetensors';

export interface ReplacingPlace extends TeamEpisodes {
  /** Snapshot of the team that provides the new policy, held by the runtime, or null. */
  readonly policy: string | null;
  readonly signal: AbortSignal;
  readonly onRemark: (remark: string) => void;
}

/**
 * Replaces a policy as the configuration says.
 * @param old the team, held by the runtime
 * @returns the team with the new policy, held by the runtime, and the measurements of the
 *   replacement
 * @throws C3Error if the policy cannot be replaced; CancelledError
 */
export async function replaceTeamPolicy(
  old: string,
  { runtime, info }: Pick<LoadedModel, 'runtime' | 'info'>,
  { recipe, protocol, beginning }: Pick<PreparedRun, 'recipe' | 'protocol' | 'beginning'>,
  { solvedBy, probesUnder, policy, signal, onRemark }: ReplacingPlace,
): Promise<{ readonly base: string; readonly replacement: Replacement }> {
  const { config, folder } = recipe;
  const { begin } = config;
  const start = getRunAdapter(config, protocol);
  const role = begin?.replace?.role ?? null;
  if (role === null || begin === null || begin.replace === null || beginning === null || start === undefined) {
    throw new Error('A policy is replaced where the configuration says so.');
  }
  const {
    with: other,
    from,
    align,
    probes: most,
    delta,
    learning_rate: learningRate,
    max_steps: maxSteps,
  } = begin.replace;
  const swapped = await swapAdapter(runtime, old, info.snapshot, role, {
    folder: other === null ? null : resolve(folder, other),
    team: policy,
    role: from?.role ?? role,
  });
  const { contexts: probes, evaluatorCalls } = await probesUnder(old, role, most);
  if (probes.length === 0) {
    throw new C3Error(
      'input',
      `begin.replace: The role ${role} says nothing in the team of run ${beginning.run}, so that there ` +
        'is no message to probe its policy with; name another role.',
    );
  }
  if (evaluatorCalls > 0) {
    onRemark(`The probes took ${evaluatorCalls} evaluator calls, since the rounds of the team depend on their scores.`);
  }
  await runtime.beginTraining(swapped, start);
  const { temperature } = getRunSampling(config);
  const settings = {
    temperature,
    delta: align ? delta : Infinity,
    learningRate,
    maxSteps,
    old: chooseExactAnchor(old, info.config.vocabularySize),
  };
  const found = await alignPolicy(runtime, probes, settings, signal);
  const teams = { before: old, direct: swapped, aligned: align ? found.snapshot : null };
  return {
    base: align ? found.snapshot : swapped,
    replacement: {
      run: beginning.run,
      role,
      by: describePolicySource(begin.replace),
      probes: probes.length,
      kls: align ? found.kls : found.kls.slice(0, 1),
      delta: align ? delta : null,
      shock: begin.replace.measure ? await measureSwapShock(teams, solvedBy, config.seed) : null,
    },
  };
}

type Replace = NonNullable<NonNullable<PreparedRun['recipe']['config']['begin']>['replace']>;

const describePolicySource = ({ with: folder, from, role }: Replace): string =>
  from !== null
    ? `the policy of ${from.role ?? role ?? ''} in run ` +
      `${from.run ?? ''}${from.snapshot === null ? '' : ` at ${from.snapshot}`}`
    : folder !== null
      ? `the adapter in ${folder}`
      : 'the model without an adapter';

/** The new policy: an adapter folder, a policy of a team in the runtime, or the base (both null). */
interface NewPolicy {
  readonly folder: string | null;
  readonly team: string | null;
  readonly role: string;
}

/** Builds the team with another adapter for a role. @returns its snapshot */
async function swapAdapter(
  runtime: ModelRuntime,
  old: string,
  base: string,
  role: string,
  policy: NewPolicy,
): Promise<string> {
  const place = createTemporaryFolder('replace');
  try {
    const team = join(place, 'team');
    const folders = await writeAdapterFolders(runtime, old, team);
    const own = folders.get(role);
    if (own === undefined) {
      throw new C3Error(
        'input',
        `begin.replace.role: The earlier run trained no adapter of the role ${role}; name another.`,
      );
    }
    const given =
      policy.team === null
        ? policy.folder
        : ((await writeAdapterFolders(runtime, policy.team, join(place, 'policy'))).get(policy.role) ?? null);
    if (given === null) {
      await rm(own, { recursive: true });
      return folders.size === 1 ? base : await runtime.loadAdapter(team, base);
    }
    const text = await readFile(join(given, ADAPTER_CONFIG), 'utf8').catch(() => null);
    if (text === null) {
      throw new C3Error(
        'input',
        `begin.replace.with: ${given} has no ${ADAPTER_CONFIG}; choose the folder of one policy's adapter.`,
      );
    }
    await copyFile(join(given, ADAPTER_WEIGHTS), join(own, ADAPTER_WEIGHTS));
    const named: unknown = JSON.parse(text);
    await writeFile(join(own, ADAPTER_CONFIG), JSON.stringify({ ...(named as object), c3_agent: role }));
    return await runtime.loadAdapter(team, base);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Writes a team's adapters to a new folder. @returns the folder of each policy by role */
async function writeAdapterFolders(
  runtime: ModelRuntime,
  team: string,
  place: string,
): Promise<ReadonlyMap<string, string>> {
  await mkdir(place);
  const found = new Map<string, string>();
  for (const folder of await runtime.saveAdapter(team, place, null)) {
    const policy: unknown = JSON.parse(await readFile(join(folder, ADAPTER_CONFIG), 'utf8'));
    const { c3_agent: name } = policy as { readonly c3_agent?: unknown };
    found.set(typeof name === 'string' ? name : '', folder);
  }
  return found;
}
