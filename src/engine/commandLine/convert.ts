/** `c3 convert`: converts a YAML file of the published scripts to a configuration of this product. */

import { stringify } from 'yaml';
import { C3Error } from '../../shared/errors.ts';
import { readConfiguration } from '../recipe/recipe.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { CONVERT } from './declared/runs.ts';

/**
 * Prints the configuration that `c3 run FILE` would run, with every key. Remarks before it list the
 * differences.
 * @throws C3Error('input') as `c3 run` would, and for a file that is not for the scripts
 */
export async function convert(given: Given<typeof CONVERT>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { document, source } = await readConfiguration(given.file, given.override, context.folder);
  if (document.converted === null) {
    throw new C3Error(
      'input',
      `${source}: is a configuration of C3 already, or has none of the sections model, dataset, grpo, reward_processor and wandb; run it as it is.`,
    );
  }
  if (given.json) {
    print(JSON.stringify({ config: document.converted, notes: document.notes }));
    return;
  }
  print([...document.notes.map((line) => `# ${line}`), stringify(document.converted).trimEnd()].join('\n'));
}
