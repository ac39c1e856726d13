/** `c3 convert`: a YAML of the published scripts as a configuration of this product. */
import { stringify } from 'yaml';
import { C3Error } from '../../shared/errors.ts';
import { readConfiguration } from '../recipe/recipe.ts';
import { readArguments } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG } from './support.ts';

/**
 * Prints the configuration that `c3 run FILE` would run, every key written out, what differs in remarks before it.
 * @throws C3Error('input') as `c3 run` would, and for a file that is none of the scripts
 */
export async function convert(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const options = { ...JSON_FLAG, override: { type: 'string', multiple: true } } as const;
  const parsed = readArguments('convert', args, options, 1);
  const [file] = parsed.positionals;
  if (file === undefined) {
    throw new C3Error('input', 'c3 convert needs a file, for example `c3 convert magrpo_he_config.yaml`.');
  }
  const overrides = parsed.values['override'];
  const { document, source } = await readConfiguration(
    file,
    Array.isArray(overrides) ? overrides.map(String) : [],
    context.folder,
  );
  if (document.converted === null) {
    throw new C3Error(
      'input',
      `${source}: is a configuration of C3 already, or has none of the sections model, dataset, grpo, reward_processor and wandb; run it as it is.`,
    );
  }
  if (parsed.values['json'] === true) {
    print(JSON.stringify({ config: document.converted, notes: document.notes }));
    return;
  }
  print([...document.notes.map((line) => `# ${line}`), stringify(document.converted).trimEnd()].join('\n'));
}
