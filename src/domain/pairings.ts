/** Which models answer for the roles of teams, and what agents contributed to teams of other models. Pure. */
import { isRecord } from '../shared/guard.ts';
import { sectionOf, storedRecipe } from './storedRecipe.ts';
import type { AgentContribution } from './stepRows.ts';

/** What answers for roles: names of model folders, of models that servers have, or of what else there is. */
export interface RoleModels {
  readonly own: string;
  /** Of roles that something else answers for. */
  readonly roles: Readonly<Record<string, string>>;
}

/** What the agents of a run contributed so far. */
export interface TeamContributions {
  readonly run: string;
  readonly models: RoleModels;
  /** In the order in which they speak. */
  readonly roles: readonly string[];
  readonly contributions: readonly AgentContribution[];
}

/** Teams with the same models in the same roles. */
export interface Pairing<Team extends TeamContributions> {
  /** The numbers of their models, from 1, role by role: `1 1 2`. */
  readonly label: string;
  readonly teams: readonly Team[];
}

export interface Pairings<Team extends TeamContributions> {
  /** By name; the first one is number 1. */
  readonly models: readonly string[];
  readonly pairings: readonly Pairing<Team>[];
}

/** Characters of a name. */
const NAME = 60;

const nameOf = (path: unknown): string =>
  typeof path === 'string'
    ? (path
        .split(/[\\/]/u)
        .findLast((part) => part !== '')
        ?.slice(0, NAME) ?? '')
    : '';

/** @param runConfig the row's JSON; what it does not say has no name */
export function roleModels(runConfig: string): RoleModels {
  const recipe = storedRecipe(runConfig);
  const weights = sectionOf(recipe, 'roles');
  const policies = sectionOf(sectionOf(recipe, 'config'), 'policies');
  const named = Object.entries(policies).flatMap(([role, policy]): [string, string][] => {
    const { kind, model_name: served } = isRecord(policy) ? policy : {};
    const own = Object.hasOwn(weights, role) ? weights[role] : undefined;
    if (isRecord(own)) {
      return [[role, nameOf(own['folder'])]];
    }
    return kind === 'endpoint' ? [[role, nameOf(served)]] : kind === 'scripted' ? [[role, 'scripted']] : [];
  });
  return { own: nameOf(recipe['modelFolder']), roles: Object.fromEntries(named) };
}

export const modelOf = ({ own, roles }: RoleModels, role: string): string =>
  Object.hasOwn(roles, role) ? (roles[role] ?? own) : own;

/** Teams by the models of their roles; those without a contribution are left out. */
export function pairingsOf<Team extends TeamContributions>(teams: readonly Team[]): Pairings<Team> {
  const measured = teams.filter(({ contributions }) => contributions.length > 0);
  const models = [
    ...new Set(measured.flatMap(({ models: own, roles }) => roles.map((role) => modelOf(own, role)))),
  ].sort();
  const numbers = ({ models: own, roles }: Team): string =>
    roles.map((role) => String(models.indexOf(modelOf(own, role)) + 1)).join(' ');
  const pairings = [...Map.groupBy(measured, numbers)]
    .map(([label, found]) => ({ label, teams: found }))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
  return { models, pairings };
}

/** What its models are, for those who read the labels: `1 team-logic, 2 team-logic-small`. */
export const modelWords = (models: readonly string[]): string =>
  models.map((name, index) => `${String(index + 1)} ${name}`).join(', ');
