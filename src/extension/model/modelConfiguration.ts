/** Writes a run configuration for a chosen model, and chooses the name of its file. */

import { basename, isAbsolute, relative, sep } from 'node:path';
import type { ModelSettings } from '../../shared/protocols/modelProtocol.ts';

const ENDING = '.c3.yaml';
/** Maximum length of a file's name without its ending, in characters. */
const LONGEST_NAME = 60;
const LONGEST_TITLE = 100;

/**
 * Writes a configuration with the model, the adapter and the device. All other keys have their
 * defaults.
 * @param folder absolute path of the model folder
 * @param home absolute path of the folder for the file
 */
export function createConfigurationText(folder: string, home: string, { adapterRank, device }: ModelSettings): string {
  const adapter =
    adapterRank === null
      ? ['adapter: null # every weight is trained']
      : [
          'adapter: # low-rank factors are trained, the model stays frozen',
          `  rank: ${adapterRank}`,
          `  alpha: ${chooseAdapterAlpha(adapterRank)}`,
        ];
  return [
    '# A run with this model. Omitted keys have their defaults.',
    // Quoted as JSON, which is valid YAML: the name of a folder may hold any character.
    `title: ${JSON.stringify(takeCharacters(basename(folder), LONGEST_TITLE) || 'Model')}`,
    `model: ${JSON.stringify(toModelReference(folder, home))}`,
    ...adapter,
    `device: ${device}`,
    '',
  ].join('\n');
}

/** Returns the overrides for a plan, with the same keys and values as in `createConfigurationText`. */
export function toConfigurationOverrides(folder: string, { adapterRank, device }: ModelSettings): readonly string[] {
  const adapter = adapterRank === null ? 'null' : `{rank: ${adapterRank}, alpha: ${chooseAdapterAlpha(adapterRank)}}`;
  return [`model=${JSON.stringify(folder)}`, `adapter=${adapter}`, `device=${device}`];
}

/** Returns twice the rank, as in the defaults, so that the factors have the same weight at any rank. */
function chooseAdapterAlpha(rank: number): number {
  return 2 * rank;
}

/**
 * Returns the path of a model for a configuration. It is relative if the model is below the
 * configuration's folder, so that both can be moved together.
 */
export function toModelReference(folder: string, home: string): string {
  const path = relative(home, folder);
  if (isAbsolute(path) || path === '..' || path.startsWith(`..${sep}`)) {
    return folder;
  }
  // The prefix "./" keeps a folder from being taken for the bundled team.
  return `./${path.split(sep).join('/')}`;
}

/** Derives a file name from that of the folder. */
export function toConfigurationName(folder: string): string {
  const name = takeCharacters(
    basename(folder)
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
      .replace(/^[.-]+/u, ''),
    LONGEST_NAME,
  );
  return `${name === '' ? 'model' : name}${ENDING}`;
}

/** Returns the first code points of a text. */
function takeCharacters(text: string, characters: number): string {
  return Array.from(text).slice(0, characters).join('');
}

/** Returns the name, with the lowest number appended that makes it unused if it is taken. */
export function findFreeName(name: string, taken: (name: string) => boolean): string {
  const stem = name.slice(0, -ENDING.length);
  for (let number = 2, candidate = name; ; number++) {
    if (!taken(candidate)) {
      return candidate;
    }
    candidate = `${stem}-${number}${ENDING}`;
  }
}
