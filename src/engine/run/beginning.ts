/**
 * What a run begins with in the place of its model: the team that an earlier run trained, one agent of which may be
 * replaced, directly or after stage 0 (TeamTR reference section 7).
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { LocalPolicy } from '../../policy/policy.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { runAdapter, runSampling } from '../../training/config/config.ts';
import { aligned, type Aligned } from '../../training/align.ts';
import { methodNamed } from '../../training/methods/methods.ts';
import { snapshotFile } from '../../training/state/checkpoints.ts';
import type { LoadedModel, WeightsFinder } from '../models/models.ts';
import type { EarlierSnapshot } from './prepareRoles.ts';
import type { PreparedRun } from './prepareRun.ts';

/** The files of one adapter in PEFT's layout. */
const ADAPTER_CONFIG = 'adapter_config.json';
const ADAPTER_WEIGHTS = 'adapter_model.safetensors';

export interface BeginningPlace {
  readonly snapshotFolder: string;
  readonly store: StoreReader;
  /** Finds the weights of the earlier run's snapshot. */
  readonly find: WeightsFinder;
  readonly signal: AbortSignal;
  readonly onRemark: (remark: string) => void;
}

/**
 * The snapshot that a run began with, held by the runtime: its model's, or what is kept beside the store.
 * @returns null where it is neither
 */
export async function beganWith(
  runtime: ModelRuntime,
  model: string,
  snapshot: string,
  snapshotFolder: string,
): Promise<string | null> {
  if (snapshot === model) {
    return model;
  }
  const file = snapshotFile(snapshotFolder, snapshot);
  return existsSync(file) && (await runtime.loadSnapshot(file)) === snapshot ? snapshot : null;
}

/**
 * What a run that begins, begins with; kept beside the store, so that a resume, a replay and verification have it.
 * @throws C3Error where an agent cannot be replaced; CancelledError
 */
export async function beginningOf(
  { runtime, tokenizer, info }: Pick<LoadedModel, 'runtime' | 'tokenizer' | 'info'>,
  prepared: Pick<PreparedRun, 'recipe' | 'protocol' | 'beginning'>,
  place: BeginningPlace,
): Promise<string> {
  const { beginning, recipe } = prepared;
  if (beginning === null) {
    return info.snapshot;
  }
  const file = await place.find(beginning.snapshot);
  const old = file === null ? beginning.snapshot : await runtime.loadSnapshot(file);
  if (old !== beginning.snapshot || !(await runtime.snapshots()).includes(old)) {
    throw new C3Error(
      'model',
      `begin.run: The weights of run ${beginning.run} cannot be had, or are not those that it trained; name another run.`,
    );
  }
  const replace = recipe.config.begin?.replace ?? null;
  const { replaced, report } =
    replace === null
      ? { replaced: old, report: null }
      : await replacing(old, { runtime, tokenizer, info }, prepared, place);
  place.onRemark(
    report === null
      ? `The run begins with what run ${beginning.run} trained.`
      : replacementWords(replace?.role ?? '', beginning.run, report),
  );
  const kept = snapshotFile(place.snapshotFolder, replaced);
  if (replaced !== info.snapshot && !existsSync(kept)) {
    await runtime.saveSnapshot(replaced, kept);
  }
  return replaced;
}

interface Replacement {
  /** Mean KL of a message, of the old agent from the new one, before stage 0 and after it. */
  readonly before: number;
  readonly after: Aligned | null;
  readonly probes: number;
}

async function replacing(
  old: string,
  { runtime, tokenizer, info }: Pick<LoadedModel, 'runtime' | 'tokenizer' | 'info'>,
  { recipe, protocol, beginning }: Pick<PreparedRun, 'recipe' | 'protocol' | 'beginning'>,
  { store, signal }: BeginningPlace,
): Promise<{ readonly replaced: string; readonly report: Replacement }> {
  const { config, folder } = recipe;
  const { begin } = config;
  const start = runAdapter(config, protocol);
  const role = begin?.replace?.role ?? null;
  if (role === null || begin === null || begin.replace === null || beginning === null || start === undefined) {
    throw new Error('An agent is replaced where the configuration says so.');
  }
  const { with: other, align, probes: most, delta, learning_rate: learningRate, max_steps: maxSteps } = begin.replace;
  const swapped = await swappedTeam(runtime, old, info.snapshot, role, other === null ? null : resolve(folder, other));
  const contexts = probesOf(store, beginning, role, most);
  if (contexts.length === 0) {
    throw new C3Error(
      'input',
      `begin.replace: Run ${beginning.run} has no training message of the role ${role} to probe its agent with; name a run that trained with this role.`,
    );
  }
  const sampling = runSampling(config);
  const answers = await new LocalPolicy(runtime, tokenizer, old, info.config.maxPositions).answer(
    contexts.map((context, index) => ({
      agent: role,
      context,
      sampling,
      streamKey: index.toString(16).padStart(32, '0'),
      place: `probe ${String(index + 1)} of ${role}`,
    })),
    { signal },
  );
  const probes = answers.map(({ prompt, tokens, logprobs }) => ({
    agent: role,
    prompt,
    messages: [{ tokens, behaviour: logprobs, reference: logprobs, advantages: new Float32Array(tokens.length) }],
  }));
  await runtime.beginTraining(swapped, start);
  const settings = { temperature: sampling.temperature, delta: align ? delta : Infinity, learningRate, maxSteps };
  const found = await aligned(runtime, probes, settings, signal);
  return {
    replaced: align ? found.snapshot : swapped,
    report: { before: found.kls[0] ?? 0, after: align ? found : null, probes: probes.length },
  };
}

/** The team with another adapter in a role's place; null: with none. */
async function swappedTeam(
  runtime: ModelRuntime,
  old: string,
  base: string,
  role: string,
  other: string | null,
): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'c3-replace-'));
  try {
    const folders = await runtime.saveAdapter(old, place, null);
    for (const folder of folders) {
      const agent: unknown = JSON.parse(await readFile(join(folder, ADAPTER_CONFIG), 'utf8'));
      if ((agent as { readonly c3_agent?: unknown }).c3_agent !== role) {
        continue;
      }
      if (other === null) {
        await rm(folder, { recursive: true });
        return folders.length === 1 ? base : await runtime.loadAdapter(place, base);
      }
      const text = await readFile(join(other, ADAPTER_CONFIG), 'utf8').catch(() => null);
      if (text === null) {
        throw new C3Error(
          'input',
          `begin.replace.with: ${other} has no ${ADAPTER_CONFIG}; choose the folder of one agent's adapter.`,
        );
      }
      await copyFile(join(other, ADAPTER_WEIGHTS), join(folder, ADAPTER_WEIGHTS));
      const named: unknown = JSON.parse(text);
      await writeFile(join(folder, ADAPTER_CONFIG), JSON.stringify({ ...(named as object), c3_agent: role }));
      return await runtime.loadAdapter(place, base);
    }
  } finally {
    await rm(place, { recursive: true, force: true });
  }
  throw new C3Error(
    'input',
    `begin.replace.role: The earlier run trained no adapter of the role ${role}; name another.`,
  );
}

/** Contexts in which a role spoke while the earlier run trained, each once, the newest first. */
function probesOf(store: StoreReader, { run, recipe }: EarlierSnapshot, role: string, most: number): string[] {
  const { config } = recipe;
  const estimator = methodNamed(config.method).estimator(config);
  const found = new Set<string>();
  for (let step = store.run(run).steps; step > 0 && found.size < most; step--) {
    const stages = [
      ...store
        .stages(run, step)
        .map(({ stage }) => stage)
        .toReversed(),
      0,
    ];
    for (const { eventType, context } of stages.flatMap((stage) =>
      store.trainingMessages(run, step, estimator, stage),
    )) {
      if (eventType === role && found.size < most) {
        found.add(context);
      }
    }
  }
  return [...found];
}

function replacementWords(role: string, run: string, { before, after, probes }: Replacement): string {
  const nats = (kl: number): string => `${kl.toPrecision(3)} nats per message`;
  const on = `on ${String(probes)} probe contexts`;
  if (after === null) {
    return `The agent ${role} of run ${run} is replaced directly: the old one is ${nats(before)} from it ${on}.`;
  }
  const last = Math.min(before, ...after.kls);
  return `The agent ${role} of run ${run} is replaced: stage 0 brought the KL from ${nats(before)} to ${nats(last)} in ${String(after.kls.length - 1)} steps ${on}${after.met ? '' : ', above begin.replace.delta; raise max_steps or the learning rate'}.`;
}
