/** Detects files of the published MAGRPO scripts. */

import { isRecord } from '../../../shared/guard.ts';

/** Top-level keys that only files of the scripts have. */
const OWN_TO_THEM = ['agent_model', 'dataset', 'grpo', 'reward_processor', 'wandb'];

/** Lines that only files of the scripts have. They identify a text that cannot be parsed yet. */
const LINES = new RegExp(
  `^(?:(?:${OWN_TO_THEM.join('|')})[ \\t]*:|model[ \\t]*:[ \\t]*(?:\\{|(?:#.*)?\\r?\\n[ \\t]+[A-Za-z_]))`,
  'mu',
);

/**
 * Returns true if a configuration has the form of the scripts. The sections magrpo, external and
 * output prove nothing, because a configuration of this product may have them too.
 */
export const isPublished = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) && (OWN_TO_THEM.some((key) => Object.hasOwn(value, key)) || isRecord(value['model']));

/** The same for a text that may be unfinished. */
export const looksPublished = (text: string): boolean => LINES.test(text);
