/** Checks that the policies of a configuration fit its team and its questions. */

import type { Problem } from '../domain/problem.ts';
import { ScriptedPolicy } from '../policy/scripted.ts';
import { describePlace } from '../replay/grow.ts';
import { C3Error } from '../shared/errors.ts';
import { describeEditorModel, EXPERT_ROLE, isLearningRole, type RolePolicySettings } from '../shared/rolePolicies.ts';
import { findBundledModelFault } from '../shared/runNames.ts';
import { suggestName, type KeyPath } from '../team/document.ts';
import type { Protocol } from '../team/protocol.ts';
import type { RunConfig } from './config/config.ts';

type Policies = Pick<RunConfig, 'policies' | 'steps'>;
type Team = Policies & { readonly task: Pick<RunConfig['task'], 'name'> };

/** Returns remarks on the policies of a run for the user, one line each. */
export const listPolicyRemarks = ({ policies = {} }: Policies): readonly string[] =>
  Object.entries(policies).map(
    ([role, settings]) => `The role ${role} is ${describeAnswerer(settings)}: what it says is never trained on.`,
  );

function describeAnswerer(settings: RolePolicySettings): string {
  switch (settings.kind) {
    case 'scripted':
      return 'scripted';
    case 'snapshot':
      return settings.run === undefined
        ? 'answered by the weights that the run begins with'
        : `answered by snapshot ${settings.snapshot} of run ${settings.run}`;
    case 'adapter':
      return `answered by the run's model with the adapter ${settings.adapter}`;
    case 'model':
      return `answered by the model ${settings.model}`;
    case 'endpoint':
      return `answered by the model ${settings.model_name} of ${settings.endpoint.join(' and ')}`;
    case 'vscode':
      return `answered by a chat model of VS Code${describeEditorModel(settings.vscode)}`;
    case 'own':
      return "answered by the run's model with learns: false";
  }
}

/** Returns the fault of a team's policies, as one sentence to follow a key, or null. */
export function findPoliciesFault(
  { policies = {}, steps, task }: Team,
  { name: protocol, roles, rounds }: Pick<Protocol, 'name' | 'roles' | 'rounds'>,
): { readonly path: KeyPath; readonly sentence: string } | null {
  const names = roles.map(({ name }) => name);
  const calls = rounds === undefined ? [] : [...rounds.between, ...[...rounds.after.values()].flat()];
  const isAsked = calls.some(({ options }) => options['expert'] === 'policy');
  if (isAsked && !Object.hasOwn(policies, EXPERT_ROLE)) {
    return {
      path: ['policies'],
      sentence: `the environment expert_edits asks the role ${EXPERT_ROLE}, which has no policy; add ${EXPERT_ROLE}: {model: FOLDER}, or let rules propose the edits.`,
    };
  }
  const known = isAsked ? [...names, EXPERT_ROLE] : names;
  const unknown = Object.keys(policies).find((role) => !known.includes(role));
  if (unknown !== undefined) {
    return {
      path: ['policies', unknown],
      sentence: `the protocol ${protocol} has no such role; ${suggestName(unknown, known)}`,
    };
  }
  for (const [role, settings] of Object.entries(policies)) {
    const sentence = settings.kind === 'model' ? findBundledModelFault(settings.model, task.name) : null;
    if (sentence !== null) {
      return { path: ['policies', role, 'model'], sentence };
    }
  }
  if (steps > 0 && !names.some((role) => isLearningRole(policies, role))) {
    return {
      path: ['policies'],
      sentence:
        "no role is left to the weights in training, so nothing can be trained: only roles that the run's own model answers can; take a role out, or set steps: 0.",
    };
  }
  return null;
}

/**
 * Checks that scripted roles have an answer to every question, as far as that can be known in advance.
 * @throws C3Error('input') at the first question without an answer
 */
export function checkScripts(
  { policies = {} }: Policies,
  { occurrences }: Protocol,
  problems: readonly Problem[],
): void {
  for (const { role, id, turn } of occurrences) {
    const settings = Object.hasOwn(policies, role) ? policies[role] : undefined;
    const script = settings?.kind === 'scripted' ? new ScriptedPolicy(settings, null) : null;
    const missing = script === null ? undefined : problems.find(({ question }) => !script.mayAnswer(question, turn));
    if (missing !== undefined) {
      throw new C3Error(
        'input',
        `policies.${role}.answers has no answer for ${describePlace(id, missing.uid)}; add one, or a last one without conditions.`,
      );
    }
  }
}
