/** Which configurations are files of the published MAGRPO scripts. */
import { isRecord } from '../../../shared/guard.ts';

/** Top-level keys that only a file of the scripts has. */
const OWN_TO_THEM = ['agent_model', 'dataset', 'grpo', 'reward_processor', 'wandb'];

/** Lines that only a file of the scripts has: they say so while the rest of the text cannot be parsed. */
const LINES = new RegExp(
  `^(?:(?:${OWN_TO_THEM.join('|')})[ \\t]*:|model[ \\t]*:[ \\t]*(?:\\{|(?:#.*)?\\r?\\n[ \\t]+[A-Za-z_]))`,
  'mu',
);

/**
 * Whether a configuration is of the form of the scripts. Sections magrpo, external and output are no sign: a
 * configuration of this product may have them too.
 */
export const isPublished = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) && (OWN_TO_THEM.some((key) => Object.hasOwn(value, key)) || isRecord(value['model']));

/** The same of a text that may be unfinished. */
export const looksPublished = (text: string): boolean => LINES.test(text);
