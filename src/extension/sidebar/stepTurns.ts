/** The turns of a training step of method teamtr in words: which role learned, and from whose episodes. Pure. */
import { sectionOf, storedRecipe } from '../../domain/run.ts';
import { isRecord } from '../../shared/guard.ts';
import { POLICY_KINDS } from '../../shared/rolePolicies.ts';

/** A turn of one role. */
interface RoleTurn {
  readonly role: string;
  /** Of the rollouts that it learned from: 0 for those at the beginning of the step. */
  readonly stage: number;
  /** The other roles that were updated in this step before these rollouts, and those that were as before the step. */
  readonly updated: readonly string[];
  readonly old: readonly string[];
  /** Those that were updated between the rollouts and the turn. */
  readonly since: readonly string[];
}

/**
 * A line for each turn of a step.
 * @param runConfig the row's JSON
 * @param step from 1
 * @returns none for another method, and where the team cannot be read
 */
export function stepTurnLines(runConfig: string, step: number): readonly string[] {
  const recipe = storedRecipe(runConfig);
  const config = sectionOf(recipe, 'config');
  const roles = config['method'] === 'teamtr' ? rolesIn(recipe['protocolText']) : [];
  const policies = sectionOf(config, 'policies');
  const learning = roles.filter((role) => learnsIn(sectionOf(policies, role)['kind']));
  if (learning.length === 0) {
    return [];
  }
  const { order = 'fixed', resample_every: every = 1 } = sectionOf(config, 'teamtr');
  const ordered = inOrder(learning, order, step);
  if (ordered === null) {
    return [`One role learned after the other; which was first is not stored (order: ${String(order)}).`];
  }
  const apart = sectionOf(config, 'adapter')['per'] === 'role';
  return turnsOf(ordered, roles, typeof every === 'number' ? every : null).map((turn) => turnWords(turn, apart));
}

/**
 * The turns of roles in their order.
 * @param all roles of the team, also those that do not learn
 * @param every number of turns that share rollouts; null if all turns of a step share them
 */
function turnsOf(ordered: readonly string[], all: readonly string[], every: number | null): readonly RoleTurn[] {
  return ordered.map((role, place) => {
    const stage = every === null ? 0 : Math.floor(place / every);
    const begun = stage * (every ?? 0);
    const updated = ordered.slice(0, begun);
    return {
      role,
      stage,
      updated,
      old: all.filter((other) => other !== role && !updated.includes(other)),
      since: ordered.slice(begun, place),
    };
  });
}

/**
 * A turn in a sentence.
 * @param apart whether each role has weights of its own: else an update of one moves all
 */
function turnWords({ role, stage, updated, old, since }: RoleTurn, apart: boolean): string {
  const late = since.length === 0 ? '' : `; ${listed(since)} ${since.length === 1 ? 'was' : 'were'} updated since`;
  return `Stage ${stage}: ${role} learned from episodes with ${teamWords(updated, old, apart)}${late}`;
}

function teamWords(updated: readonly string[], old: readonly string[], apart: boolean): string {
  if (updated.length === 0) {
    return 'the team as it was before the step';
  }
  if (!apart) {
    const turns = updated.length === 1 ? 'turn' : 'turns';
    return `the weights that all roles share, after the ${turns} of ${listed(updated)}`;
  }
  return `${listed(updated)} as updated in this step${old.length === 0 ? '' : ` and ${listed(old)} as before it`}`;
}

/** Null where the store does not say it. */
function inOrder(roles: readonly string[], order: unknown, step: number): readonly string[] | null {
  switch (order) {
    case 'fixed':
      return roles;
    case 'reverse':
      return roles.toReversed();
    case 'round_robin': {
      const first = (step - 1) % roles.length;
      return [...roles.slice(first), ...roles.slice(0, first)];
    }
    default:
      return null;
  }
}

/** The roles of a protocol as it lists them; none where it cannot be read. */
function rolesIn(text: unknown): readonly string[] {
  try {
    const protocol: unknown = typeof text === 'string' ? JSON.parse(text) : null;
    const roles = isRecord(protocol) ? protocol['roles'] : null;
    const names = Array.isArray(roles)
      ? roles.flatMap((one: unknown) => (isRecord(one) && typeof one['role'] === 'string' ? [one['role']] : []))
      : [];
    return [...new Set(names)];
  } catch {
    return [];
  }
}

const learnsIn = (kind: unknown): boolean =>
  POLICY_KINDS.find(({ name }) => name === kind)?.capabilities.learns ?? true;

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
