/** A run configuration for a chosen model, as text, and the name of its file. */
import { basename, isAbsolute, relative, sep } from 'node:path';
import type { ModelSettings } from '../../shared/protocols/modelProtocol.ts';

const ENDING = '.c3.yaml';
/** Characters of a file's name before its ending. */
const LONGEST_NAME = 60;
const LONGEST_TITLE = 100;

/**
 * The configuration: model, what is trained and where, all else by default.
 * @param folder absolute path of the model folder
 * @param home absolute path of the folder that the file lies in
 */
export function configurationText(folder: string, home: string, { adapterRank, device }: ModelSettings): string {
  const adapter =
    adapterRank === null
      ? ['adapter: null # every weight is trained']
      : [
          'adapter: # low-rank factors are trained, the model stays frozen',
          `  rank: ${adapterRank}`,
          `  alpha: ${adapterAlpha(adapterRank)}`,
        ];
  return [
    '# A run with this model. Omitted keys have their defaults.',
    // Quoted as JSON, which is YAML too: a folder's name can hold anything.
    `title: ${JSON.stringify(start(basename(folder), LONGEST_TITLE) || 'Model')}`,
    `model: ${JSON.stringify(modelReference(folder, home))}`,
    ...adapter,
    `device: ${device}`,
    '',
  ].join('\n');
}

/** What the engine is asked to plan: the same keys and values as in `configurationText`. */
export function configurationOverrides(folder: string, { adapterRank, device }: ModelSettings): readonly string[] {
  const adapter = adapterRank === null ? 'null' : `{rank: ${adapterRank}, alpha: ${adapterAlpha(adapterRank)}}`;
  return [`model=${JSON.stringify(folder)}`, `adapter=${adapter}`, `device=${device}`];
}

/** Twice the rank, as in the configuration's defaults: the factors count the same whatever their rank. */
function adapterAlpha(rank: number): number {
  return 2 * rank;
}

/** How a configuration names the folder: relative where both lie in one place, so that they can be moved together. */
export function modelReference(folder: string, home: string): string {
  const path = relative(home, folder);
  if (isAbsolute(path) || path === '..' || path.startsWith(`..${sep}`)) {
    return folder;
  }
  // With "./" in front no folder can be taken for the bundled team.
  return `./${path.split(sep).join('/')}`;
}

/** A file name made from the folder's. */
export function configurationName(folder: string): string {
  const name = start(
    basename(folder)
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
      .replace(/^[.-]+/u, ''),
    LONGEST_NAME,
  );
  return `${name === '' ? 'model' : name}${ENDING}`;
}

/** The first characters of a text; none is cut in two. */
function start(text: string, characters: number): string {
  return Array.from(text).slice(0, characters).join('');
}

/** The name itself, or with the first number that makes it free. */
export function freeName(name: string, taken: (name: string) => boolean): string {
  const stem = name.slice(0, -ENDING.length);
  for (let number = 2, candidate = name; ; number++) {
    if (!taken(candidate)) {
      return candidate;
    }
    candidate = `${stem}-${number}${ENDING}`;
  }
}
