/**
 * What a run begins with in the place of its model: the team that an earlier run trained, one policy of which may be
 * replaced (TeamTR reference section 7).
 */
import { existsSync } from 'node:fs';
import { shockWords, type Replacement } from '../../domain/run.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { snapshotFile } from '../../training/state/checkpoints.ts';
import type { LoadedModel } from '../models/models.ts';
import type { EarlierSnapshot } from '../session/earlier.ts';
import type { PreparedRun } from './prepareRun.ts';
import { replacing } from './replacing.ts';
import type { TeamEpisodes } from './teamEpisodes.ts';

export interface BeginningPlace extends TeamEpisodes {
  readonly snapshotFolder: string;
  readonly store: StoreReader;
  /** Finds the file of the weights of earlier runs' snapshots. */
  readonly earlier: (earlier: EarlierSnapshot) => Promise<string | null>;
  readonly signal: AbortSignal;
  readonly onRemark: (remark: string) => void;
}

/** What a run begins with, and what replacing a policy came to; null where none was. */
export interface Begun {
  readonly base: string;
  readonly replacement: Replacement | null;
}

/**
 * What a run that begins, begins with; kept beside the store, so that a resume, a replay and verification have it.
 * @throws C3Error where a policy cannot be replaced; CancelledError
 */
export async function readBeginning(
  model: Pick<LoadedModel, 'runtime' | 'tokenizer' | 'info'>,
  prepared: Pick<PreparedRun, 'recipe' | 'protocol' | 'beginning'>,
  place: BeginningPlace,
): Promise<Begun> {
  const { runtime, info } = model;
  const { beginning, recipe } = prepared;
  if (beginning === null) {
    return { base: info.snapshot, replacement: null };
  }
  const old = await heldTeam(runtime, beginning, 'begin.run', place);
  const replace = recipe.config.begin?.replace ?? null;
  const { base, replacement } =
    replace === null
      ? { base: old, replacement: null }
      : await replacing(old, model, prepared, {
          ...place,
          policy:
            beginning.policy === null
              ? null
              : await heldTeam(runtime, beginning.policy, 'begin.replace.from.run', place),
        });
  for (const remark of replacement === null
    ? [`The run begins with what run ${beginning.run} trained.`]
    : replacementWords(replacement)) {
    place.onRemark(remark);
  }
  const kept = snapshotFile(place.snapshotFolder, base);
  if (base !== info.snapshot && !existsSync(kept)) {
    await runtime.saveSnapshot(base, kept);
  }
  return { base, replacement };
}

/** The snapshot of an earlier run, held by the runtime. */
async function heldTeam(
  runtime: ModelRuntime,
  earlier: EarlierSnapshot,
  key: string,
  place: BeginningPlace,
): Promise<string> {
  const file = await place.earlier(earlier);
  const held = file === null ? earlier.snapshot : await runtime.loadSnapshot(file);
  if (held !== earlier.snapshot || !(await runtime.snapshots()).includes(held)) {
    throw new C3Error(
      'model',
      `${key}: The weights of run ${earlier.run} cannot be had, or are not those that it trained; name another run.`,
    );
  }
  return held;
}

function replacementWords({ role, run, by, probes, kls, delta, shock }: Replacement): readonly string[] {
  const nats = (kl: number): string => `${kl.toPrecision(3)} nats per message`;
  const on = `on ${probes} probe contexts`;
  const before = kls[0] ?? 0;
  const least = Math.min(...kls);
  const done =
    delta === null
      ? `The policy of ${role} in run ${run} is replaced directly by ${by}: the old one is ` +
        `${nats(before)} from it ${on}.`
      : `The policy of ${role} in run ${run} is replaced by ${by}: stage 0 brought the KL from ` +
        `${nats(before)} to ${nats(least)} in ${kls.length - 1} steps ` +
        `${on}${least <= delta ? '' : ', above begin.replace.delta; raise max_steps or the learning rate'}.`;
  return [done, ...(shock === null ? [] : [shockWords(shock)])];
}
