/** Keeps a message as a test, and draws it at once, so that a check has draws to compare with. */

import { existsSync, mkdirSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { FINDING_DRAWS, FINDING_FILE, type KeptFinding } from '../../domain/answer.ts';
import { IMPORTED } from '../../domain/episode.ts';
import type { FullMessage } from '../../domain/message.ts';
import { asksServers } from '../../domain/run.ts';
import { writeOut } from '../../files/outFile.ts';
import { C3Error } from '../../shared/errors.ts';
import type { KeepFindingParams } from '../../shared/protocols/engineProtocol.ts';
import { isBundledName } from '../../shared/runNames.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { readEpisodeThrough } from '../../shared/transcript/episodeThrough.ts';
import type { StoreReader } from '../../store/types.ts';
import { requireOccurrence, type Protocol } from '../../team/protocol.ts';
import { parseRecipe, parseRecipeProtocol, type StoredRecipe } from '../recipe/recipe.ts';
import { decideEpisode, readLostEpisode } from '../replay/blame.ts';
import type { Engine } from '../session/session.ts';
import { DRAWS_PER_BLOCK } from './checkFinding.ts';
import { openFinding, type Drawable } from './drawFinding.ts';
import { formatFindingFile, type Draw } from './findingFile.ts';

/** Maximum characters of a question in a title. */
const SHOWN = 60;

/** @throws C3Error('input') for a message that no file can hold, or an existing file; CancelledError */
export async function keepFinding(
  engine: Engine,
  { message, out, draws: count, expect }: KeepFindingParams,
  asked: AbortSignal,
): Promise<KeptFinding> {
  const { least, most } = FINDING_DRAWS;
  if (!Number.isInteger(count) || count < least || count > most) {
    throw new C3Error('input', `A finding has ${least} to ${most} draws, not ${count}.`);
  }
  const signal = engine.work.stopping(asked);
  const { finding, title, weights, file } = engine.work.reading((store) => {
    const said = store.fullMessage(message);
    const path = out.endsWith(FINDING_FILE)
      ? out
      : resolve(out, `${said.role.replaceAll(/[^\w-]/gu, '_')}-${message}${FINDING_FILE}`);
    return {
      finding: readDrawable(store, said, dirname(path)),
      title: buildFindingTitle(store, said),
      weights: said.snapshot,
      file: path,
    };
  });
  if (existsSync(file)) {
    throw new C3Error('input', `${file} already exists and was left unchanged; choose another place for the finding.`);
  }
  const draws: Draw[] = [];
  await using opened = await engine.work.tracked(openFinding(engine, finding, dirname(file), { weights }, signal));
  if (opened.context.key !== finding.context.key) {
    throw new C3Error(
      'engine',
      `Message ${message} cannot be kept as a test: its context renders to other bytes than the stored ones.`,
    );
  }
  for (let block = 0; draws.length < count; block++) {
    draws.push(...(await engine.work.tracked(opened.draw(block, Math.min(DRAWS_PER_BLOCK, count - draws.length)))));
  }
  const text = formatFindingFile({
    finding: 1,
    title,
    expect,
    ...finding,
    drawn: { weights: opened.weights, environment: opened.environment, draws },
  });
  mkdirSync(dirname(file), { recursive: true });
  writeOut(file, [text]);
  const evaluatorCalls = opened.evaluatorCalls();
  return {
    ...{ file, title, evaluatorCalls },
    sentence: `Kept as ${file}: ${title} ${count} draws, ${evaluatorCalls.toLocaleString('en-US')} calls.`,
  };
}

/** Returns everything that drawing a message again needs. */
function readDrawable(store: StoreReader, said: FullMessage, folder: string): Drawable {
  const { id, run, context, contextKey: key, text, position } = said;
  const recipe = readKeptRecipe(store, id, run);
  const protocol = parseRecipeProtocol(recipe);
  return {
    from: { run, message: id },
    problem: { ...store.problem(said.problem) },
    before: listEarlierEntries(store, id, protocol),
    message: { as: requireOccurrence(protocol, position).id, said: text },
    context: { key, text: context },
    model: formatModelName(recipe, folder),
    protocol: recipe.protocolText,
    config: recipe.config,
  };
}

/** @throws C3Error('input') for a run whose team a file cannot hold */
function readKeptRecipe(store: StoreReader, message: number, run: string): StoredRecipe {
  const config = store.runConfig(run);
  const refused =
    store.run(run).method === IMPORTED
      ? 'was recorded elsewhere'
      : asksServers(config)
        ? 'has a team that servers answer for'
        : null;
  if (refused !== null) {
    throw new C3Error(
      'input',
      `Message ${message} ${refused}; messages of runs whose model is on this machine are kept as tests.`,
    );
  }
  const recipe = parseRecipe(config, run);
  if (Object.keys(recipe.roles ?? {}).length > 0) {
    throw new C3Error(
      'input',
      `Message ${message} is of a team whose roles have weights of their own; messages of teams with one model are kept as tests.`,
    );
  }
  return recipe;
}

/** Returns the messages before a message, with the events of environments. */
function listEarlierEntries(store: StoreReader, id: number, protocol: Protocol): Drawable['before'] {
  return store.chain(id).flatMap((one) => {
    const events = store.environmentEvents(one.id, 'before').map(({ event }) => {
      const { kind: _, reward: __, answers, json, ...rest } = event;
      return { ...rest, json, ...(answers !== undefined && { answers: [...answers] }) };
    });
    const said = { as: requireOccurrence(protocol, one.position).id, said: one.text };
    return one.id === id ? events : [...events, said];
  });
}

/** Returns the model's bundled name, or its path relative to the file, so that both can move. */
function formatModelName({ config, modelFolder }: StoredRecipe, folder: string): string {
  return isBundledName(config.model) ? config.model : relative(folder, modelFolder).split(sep).join('/') || '.';
}

/** Returns the question, with the result of searches of the episode if they found this message. */
function buildFindingTitle(store: StoreReader, { id, role, problem }: FullMessage): string {
  const question = toOneLine(store.problem(problem).question, SHOWN);
  const end = readEpisodeThrough(store, id).at(-1);
  const episode = end === undefined || end.return === null ? null : readLostEpisode(store, id);
  const blame = episode === null ? null : decideEpisode(store, episode, 0).blame;
  const known = blame?.message === id ? `: ${blame.sentence.slice(0, blame.sentence.lastIndexOf('. '))}` : '';
  return known === '' ? `The ${role} on ${question}` : `${question}${known}`;
}
