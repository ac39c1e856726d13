/** A team in which some roles are answered by something else than the weights in training. */
import type { RolePolicies, RolePolicySettings } from '../shared/rolePolicies.ts';
import type { Policy, PolicyAnswer, PolicyControl, PolicyRequest, RolePolicy, TypedRequest } from './policy.ts';
import { ScriptedPolicy } from './scripted.ts';
import type { Tokenizer } from './tokenizer.ts';

/**
 * The policy of a team in which some roles have a policy of their own; the model's itself where none has.
 * @param tokenizer gives tokens to what no model says
 * @param weights what answers for roles with weights of their own, and for those that a server answers
 */
export function teamPolicy(
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

/** A team in which some roles are answered by policies of their own, in the place of those that they have. */
export function withRolePolicies(model: Policy, own: ReadonlyMap<string, RolePolicy>): Policy {
  if (own.size === 0) {
    return model;
  }
  return model instanceof TeamPolicy ? model.with(own) : new TeamPolicy(model, own);
}

/** Gives each request to the policy of its role. */
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

  /** The same team with other policies for some roles: what takes no seeds there no longer counts. */
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
