/** Whether a run can begin with the team of an earlier one: what is checked before anything is loaded. */
import type { Rendering } from '../../policy/rendering.ts';
import { C3Error } from '../../shared/errors.ts';
import { LAST_SNAPSHOT } from '../../shared/records/continuation.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Fingerprint, Recipe } from '../recipe/recipe.ts';
import type { EarlierSnapshot, FindSnapshot } from './prepareRoles.ts';

/**
 * The earlier run that `begin` names, null where there is none. What its agents read must be written the same now, so
 * that a replaced agent speaks the team's protocol: tokenizer, chat template, system prompt and tags.
 * @throws C3Error('input') naming what differs
 */
export function prepareBeginning(
  { config: { begin, adapter }, modelFolder }: Recipe,
  protocol: Protocol,
  own: { readonly fingerprint: Fingerprint; readonly rendering: Rendering },
  find: FindSnapshot,
): EarlierSnapshot | null {
  const run = begin?.run ?? null;
  if (begin === null || run === null) {
    return null;
  }
  const role = begin.replace?.role ?? null;
  if (role !== null && protocol.roles.every(({ name }) => name !== role)) {
    throw new C3Error(
      'input',
      `begin.replace.role: The protocol ${protocol.name} has no role ${role}; it has ${protocol.roles.map(({ name }) => name).join(', ')}.`,
    );
  }
  const earlier = find(run, begin.snapshot ?? LAST_SNAPSHOT);
  const { fingerprint, rendering, config } = earlier.recipe;
  const differs = (what: string, advice: string): C3Error =>
    new C3Error('input', `begin.run: Run ${run} had ${what} than this one; ${advice}.`);
  if (fingerprint?.tokenizer !== own.fingerprint.tokenizer) {
    throw differs(
      `another tokenizer in ${earlier.recipe.modelFolder}`,
      `use the model that it was trained with, not ${modelFolder}`,
    );
  }
  if (
    fingerprint.template !== own.fingerprint.template ||
    JSON.stringify(rendering) !== JSON.stringify(own.rendering)
  ) {
    throw differs(
      'another chat template, system prompt or tags',
      'write the section chat as there, and put its template back',
    );
  }
  if (config.adapter?.per !== adapter?.per) {
    throw differs('adapters of other owners', 'write adapter.per as there');
  }
  return earlier;
}
