/** The weights that answer for roles of a run while it goes, beside its own model. */
import { existsSync } from 'node:fs';
import { LocalPolicy } from '../../policy/policy.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { C3Error } from '../../shared/errors.ts';
import { snapshotFile } from '../../training/state/checkpoints.ts';
import type { LentPolicy, LoadControl, LoadedModel, ModelPool, WeightsFinder } from '../models/models.ts';
import { withRoles, type LentRoles, type RoleLender } from '../models/roles.ts';
import { roleWeights, type RoleWeights } from '../recipe/recipe.ts';
import type { EarlierSnapshot, PreparedRole } from './prepareRoles.ts';
import type { PreparedRun } from './prepareRun.ts';

/** Finds the weights of a snapshot of an earlier run. */
export type EarlierWeights = (earlier: EarlierSnapshot, signal: AbortSignal) => WeightsFinder;

/** Where weights of roles are found. */
export interface RoleFiles {
  readonly earlier: EarlierWeights;
  /** What `keepAdapters` wrote is there. */
  readonly snapshotFolder: string;
}

/**
 * Loads what answers for the roles with weights of their own and lends it to a run.
 * @param own the run's model, which a role that answers with the base shares
 * @throws C3Error naming the role, where weights cannot be had or are no longer those that the run began with
 */
export function withRunRoles<Result>(
  models: ModelPool,
  { recipe, roles, interrupted }: PreparedRun,
  own: LoadedModel,
  { earlier: find, snapshotFolder }: RoleFiles,
  control: LoadControl,
  work: (roles: LentRoles) => Promise<Result>,
): Promise<Result> {
  const { signal = NEVER } = control;
  const lenderOf = ({ role, folder, adapter, earlier, model }: PreparedRole): RoleLender => {
    const place = { ...recipe, modelFolder: folder };
    const began = interrupted === null ? undefined : roleWeights(interrupted.recipe, role)?.snapshot;
    return (lend) => {
      const known = (lent: LentPolicy): ReturnType<typeof lend> => {
        if (interrupted !== null && began !== lent.policy.snapshot) {
          throw new C3Error(
            'input',
            `Run ${interrupted.id} cannot be resumed: what answers for the role ${role}, ${adapter ?? folder}, no longer holds the weights that the run began with; put them back, or start a new run.`,
          );
        }
        return lend(lent);
      };
      const named = (lent: LentPolicy | string): ReturnType<typeof lend> =>
        typeof lent === 'string' ? lend(`policies.${role}: ${lent}`) : known(lent);
      const kept = adapter === null || began === undefined ? null : snapshotFile(snapshotFolder, began);
      if (kept !== null && began !== undefined && existsSync(kept)) {
        return models.withPolicy(place, began, () => Promise.resolve(kept), named, control);
      }
      if (earlier !== null) {
        return models.withPolicy(place, earlier.snapshot, find(earlier, signal), named, control);
      }
      return adapter === null && model === null
        ? known({ ...own, policy: basePolicy(own) })
        : models.withFolder(place, adapter, known, control);
    };
  };
  return withRoles(
    roles.map((prepared) => [prepared.role, lenderOf(prepared)] as const),
    (lent) => {
      if (typeof lent === 'string') {
        throw new C3Error('model', lent);
      }
      return work(lent);
    },
  );
}

const basePolicy = ({ runtime, tokenizer, info }: LoadedModel): LocalPolicy =>
  new LocalPolicy(runtime, tokenizer, info.snapshot, info.config.maxPositions);

/** The weights of roles as a run's row keeps them. */
export function storedRoles(roles: readonly PreparedRole[], lent: LentRoles): Readonly<Record<string, RoleWeights>> {
  return Object.fromEntries(
    roles.flatMap(({ role, folder, earlier, texts, rendering }) => {
      const snapshot = lent.get(role)?.policy.snapshot;
      return snapshot === undefined
        ? []
        : [[role, { folder, snapshot, run: earlier?.run ?? null, ...texts, rendering } satisfies RoleWeights]];
    }),
  );
}

/** Keeps adapters beside the store, so that what they said can be had again when their folders have changed. */
export async function keepAdapters(roles: readonly PreparedRole[], lent: LentRoles, folder: string): Promise<void> {
  for (const { role, adapter } of roles) {
    const found = adapter === null ? undefined : lent.get(role);
    if (found === undefined || found.policy.snapshot === found.info.snapshot) {
      continue;
    }
    const { runtime, policy } = found;
    const file = snapshotFile(folder, policy.snapshot);
    if (!existsSync(file)) {
      await runtime.saveSnapshot(policy.snapshot, file);
    }
  }
}
