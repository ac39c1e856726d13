/** Checks that a run can begin with the team of an earlier run, before anything is loaded. */

import { LAST_SNAPSHOT } from '../../domain/replay.ts';
import type { Rendering } from '../../policy/rendering.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { TextPool } from '../models/texts.ts';
import { parseRecipeProtocol, type Fingerprint, type Recipe, type RunData } from '../recipe/recipe.ts';
import type { EarlierSnapshot, FindSnapshot } from '../session/earlier.ts';

/** Most texts on which two tokenizers are compared. */
const COMPARED_TEXTS = 1_000;

/** The earlier run that a run begins with, and the run that provides the replaced policy. */
export interface PreparedBeginning extends EarlierSnapshot {
  /** Null if the policy does not come from a run. */
  readonly policy: EarlierSnapshot | null;
}

export interface BeginningInput {
  readonly texts: Pick<TextPool, 'tokenizer'>;
  readonly protocol: Protocol;
  readonly fingerprint: Pick<Fingerprint, 'tokenizer' | 'template'>;
  readonly rendering: Rendering;
  readonly tokenizer: Tokenizer;
  readonly data: Pick<RunData, 'train' | 'evaluation'>;
  readonly find: FindSnapshot;
  readonly signal: AbortSignal;
}

/**
 * Returns the earlier run that `begin` names, or null. Its contexts must be rendered the same way
 * now, so that a replaced policy speaks the team's protocol: tokenizer, chat template, system
 * prompt and tags (TeamTR reference section 7).
 * @throws C3Error('input') naming the difference; CancelledError
 */
export async function prepareBeginning(recipe: Recipe, input: BeginningInput): Promise<PreparedBeginning | null> {
  const { config, modelFolder } = recipe;
  const { begin, adapter } = config;
  const run = begin?.run ?? null;
  if (begin === null || run === null) {
    return null;
  }
  const { protocol, find } = input;
  const role = begin.replace?.role ?? null;
  if (role !== null && protocol.roles.every(({ name }) => name !== role)) {
    throw new C3Error(
      'input',
      `begin.replace.role: The protocol ${protocol.name} has no role ${role}; it has ${protocol.roles.map(({ name }) => name).join(', ')}.`,
    );
  }
  const earlier = find(run, begin.snapshot ?? LAST_SNAPSHOT);
  await requireSameRendering('begin.run', earlier, role, modelFolder, input);
  if (earlier.recipe.config.adapter?.per !== adapter?.per) {
    throw new C3Error(
      'input',
      `begin.run: Run ${run} had adapters of other owners than this one; set adapter.per to the value of that run.`,
    );
  }
  return { ...earlier, policy: await findReplacingPolicy(recipe, role, input) };
}

/** Finds the snapshot that `begin.replace.from` names. Returns null if it names none. */
async function findReplacingPolicy(
  { config: { begin }, modelFolder }: Recipe,
  role: string | null,
  input: BeginningInput,
): Promise<EarlierSnapshot | null> {
  const from = begin?.replace?.from ?? null;
  if (from === null || from.run === null) {
    return null;
  }
  const other = input.find(from.run, from.snapshot ?? LAST_SNAPSHOT);
  const { config } = other.recipe;
  const roles = parseRecipeProtocol(other.recipe).roles.map(({ name }) => name);
  const name = from.role ?? role ?? '';
  if (!roles.includes(name)) {
    throw new C3Error(
      'input',
      `begin.replace.from.role: Run ${from.run} has no role ${name}; it has ${roles.join(', ')}.`,
    );
  }
  if (config.adapter?.per !== 'role') {
    throw new C3Error(
      'input',
      `begin.replace.from.run: Run ${from.run} trained no adapter for each role; name a run with adapter: {per: role}.`,
    );
  }
  // The role may have had other tasks in its own team, so its system prompt is not compared.
  await requireSameRendering('begin.replace.from.run', other, null, modelFolder, input);
  return other;
}

/** @param role the role whose system prompt is compared, or null for none */
async function requireSameRendering(
  key: string,
  earlier: EarlierSnapshot,
  role: string | null,
  modelFolder: string,
  { texts, protocol, fingerprint: own, rendering, tokenizer, data, signal }: BeginningInput,
): Promise<void> {
  const { run, recipe } = earlier;
  const refused = (what: string, advice: string): C3Error =>
    new C3Error('input', `${key}: Run ${run} had ${what} than this one; ${advice}.`);
  if (recipe.fingerprint?.tokenizer !== own.tokenizer) {
    const other = await texts.tokenizer(recipe.modelFolder, signal);
    const { different, compared } = await countTokenizedDifferently(other, tokenizer, data);
    if (different > 0 || compared === 0) {
      throw refused(
        `another tokenizer in ${recipe.modelFolder}, which splits ${different} of ${compared} texts differently,`,
        `use the model that it was trained with, not ${modelFolder}`,
      );
    }
  }
  const [before, now] = [recipe.rendering?.template ?? null, rendering.template];
  if (before?.text !== now?.text || JSON.stringify(before?.variables) !== JSON.stringify(now?.variables)) {
    throw refused('another chat template', 'set chat.template to the value of that run, and restore its template');
  }
  if (before?.thinking !== now?.thinking) {
    throw refused('other reasoning tags', 'set chat.thinking to the value of that run');
  }
  if (JSON.stringify(recipe.rendering?.controls) !== JSON.stringify(rendering.controls)) {
    throw refused('other control tokens', `restore the tokenizer's files of ${modelFolder}`);
  }
  const promptIn = ({ roles }: Protocol): string | undefined => roles.find(({ name }) => name === role)?.prompt;
  if (role !== null && promptIn(parseRecipeProtocol(recipe)) !== promptIn(protocol)) {
    throw refused(`another system prompt for the role ${role}`, 'give the role the same prompt as in that run');
  }
}

/** Counts the questions that two tokenizers split differently. */
async function countTokenizedDifferently(
  one: Tokenizer,
  other: Tokenizer,
  { train, evaluation }: BeginningInput['data'],
): Promise<{ readonly different: number; readonly compared: number }> {
  const questions = [...train, ...evaluation].slice(0, COMPARED_TEXTS).map(({ question }) => question);
  let different = 0;
  for (const question of questions) {
    const [first, second] = [await one.encode(question), await other.encode(question)];
    different += first.length === second.length && first.every((token, at) => token === second[at]) ? 0 : 1;
  }
  return { different, compared: questions.length };
}
