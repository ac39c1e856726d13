/** What answered for a role of a stored run in the place of its model. */
import { isRecord } from '../../shared/guard.ts';
import { POLICY_KINDS, type PolicyKind } from '../../shared/rolePolicies.ts';
import type { StoreReader } from '../../store/read/reader.ts';

/**
 * The kind of policy of a role, from the configuration that the run's row keeps; null for the run's model, and for a
 * kind of another version.
 */
export function policyOfRole(reader: Pick<StoreReader, 'runConfig'>, run: string, role: string): PolicyKind | null {
  const kind = kindIn(recipeOf(reader.runConfig(run)), role);
  return POLICY_KINDS.find(({ name }) => name === kind) ?? null;
}

function kindIn(recipe: unknown, role: string): unknown {
  return ['config', 'policies', role, 'kind'].reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    recipe,
  );
}

/** A run that was imported has no recipe. */
function recipeOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
