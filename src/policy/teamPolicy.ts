/** A team in which some roles have other policies than the weights in training. */

import type { RolePolicies, RolePolicySettings } from '../shared/rolePolicies.ts';
import type { Policy, PolicyAnswer, PolicyControl, PolicyRequest, RolePolicy, TypedRequest } from './policy.ts';
import { ScriptedPolicy } from './scripted.ts';
import type { Tokenizer } from './tokenizer.ts';

/**
 * Returns the policy of a team in which some roles have policies of their own, or the model's
 * policy if none has.
 * @param tokenizer encodes answers that no model gives
 * @param weights policies of roles with weights of their own, and of those that a server answers
 */
export function createTeamPolicy(
  model: Policy,
  policies: RolePolicies | undefined,
  tokenizer: Pick<Tokenizer, 'encode'> | null,
  weights: ReadonlyMap<string, RolePolicy> = new Map(),
): Policy {
  const policyOf = (role: string, settings: RolePolicySettings): RolePolicy => {
    if (settings.kind === 'scripted') {
      return new ScriptedPolicy(settings, tokenizer);
    }
    const own = weights.get(role);
    if (own === undefined) {
      throw new Error(`What answers for the role ${role} was not made ready.`);
    }
    return own;
  };
  const own = new Map(
    Object.entries(policies ?? {}).flatMap(([role, one]) =>
      one.kind === 'own' ? [] : [[role, policyOf(role, one)] as const],
    ),
  );
  return withRolePolicies(model, own);
}

/** Returns a team in which the given policies replace those of some roles. */
export function withRolePolicies(model: Policy, own: ReadonlyMap<string, RolePolicy>): Policy {
  if (own.size === 0) {
    return model;
  }
  return model instanceof TeamPolicy ? model.with(own) : new TeamPolicy(model, own);
}

/** Passes each request to the policy of its role. */
class TeamPolicy implements Policy {
  readonly snapshot: string;
  readonly environment: Policy['environment'];
  readonly seeded: boolean;
  private readonly model: Policy;
  private readonly own: ReadonlyMap<string, RolePolicy>;

  constructor(model: Policy, own: ReadonlyMap<string, RolePolicy>) {
    this.model = model;
    this.own = own;
    this.snapshot = model.snapshot;
    this.environment = model.environment;
    this.seeded = model.seeded && [...own.values()].every(({ seeded = true }) => seeded);
  }

  async answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]> {
    const answers: PolicyAnswer[] = [];
    const places = Map.groupBy(requests.keys(), (index) => this.of(requests[index]?.role ?? ''));
    for (const [policy, members] of places) {
      const given = await policy.answer(
        members.flatMap((index) => requests[index] ?? []),
        { ...control, onAnswer: (place, answer) => control.onAnswer?.(members[place] ?? place, answer) },
      );
      for (const [place, answer] of given.entries()) {
        answers[members[place] ?? place] = answer;
      }
    }
    return answers;
  }

  seededFor = (role: string): boolean => {
    const own = this.own.get(role);
    return own === undefined ? this.model.seeded : (own.seeded ?? true);
  };

  /** Returns the team with other policies for some roles. Replaced ones do not affect `seeded`. */
  with(own: ReadonlyMap<string, RolePolicy>): TeamPolicy {
    return new TeamPolicy(this.model, new Map([...this.own, ...own]));
  }

  typed(request: TypedRequest, control: PolicyControl): Promise<PolicyAnswer> {
    return this.of(request.role).typed(request, control);
  }

  private of(role: string): RolePolicy {
    return this.own.get(role) ?? this.model;
  }
}
