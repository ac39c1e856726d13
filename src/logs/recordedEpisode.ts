/** Reads a recorded episode from a store, and writes team files for it. */

import { stringify } from 'yaml';
import { IMPORTED, type EnvironmentEvent } from '../domain/episode.ts';
import type { FullMessage, Message } from '../domain/message.ts';
import { C3Error } from '../shared/errors.ts';
import { MAX_YAML_CHARACTERS } from '../shared/text/yaml.ts';
import { inferSteps, MOST_STEPS, unseenSteps, type EpisodeEntry, type EpisodeStep } from './inferred.ts';
import { maskText } from './secrets.ts';

/** The store's functions that are needed here. */
export interface EpisodeReader {
  readonly fullMessage: (id: number) => FullMessage;
  readonly chain: (leaf: number) => readonly Message[];
  readonly children: (message: number) => readonly Message[];
  readonly environmentEvents: (
    message: number,
    side: 'before' | 'after',
  ) => readonly { readonly event: EnvironmentEvent }[];
  readonly problem: (uidSha: string) => { readonly question: string };
  readonly run: (id: string) => { readonly method: string };
}

/** The model of a team file. Null marks a part that the user has yet to write. */
export interface NamedModel {
  readonly endpoint: string | null;
  readonly model: string | null;
}

/** Returns the entries of the recorded episode that contains a message. */
function episodeThrough(reader: EpisodeReader, message: number): EpisodeEntry[] {
  const ids = reader.chain(message).map(({ id }) => id);
  for (let last = ids.at(-1); last !== undefined && ids.length <= MOST_STEPS;) {
    last = reader.children(last).find(({ phase }) => phase !== 'replay')?.id;
    ids.push(...(last === undefined ? [] : [last]));
  }
  return ids.flatMap((id): EpisodeEntry[] => {
    const { role, context, text } = reader.fullMessage(id);
    const before = reader
      .environmentEvents(id, 'before')
      .map(({ event: { source, text: given } }) => ({ kind: 'event' as const, source, text: given }));
    return [...before, { kind: 'message', role, context, text }];
  });
}

/**
 * Writes a team file, for the user to read, whose steps are the inferred protocol of a message's
 * episode.
 * @throws C3Error('input') if the message was not recorded elsewhere, or if the protocol cannot be
 *   inferred
 */
export function writeInferredTeam(reader: EpisodeReader, message: number, { endpoint, model }: NamedModel): string {
  const { run, problem } = reader.fullMessage(message);
  if (reader.run(run).method !== IMPORTED) {
    throw new C3Error(
      'input',
      `Message ${message} is of a run with a protocol of its own; replay it without a team file.`,
    );
  }
  const steps = inferSteps(reader.problem(problem).question, episodeThrough(reader, message));
  const file = steps === null ? null : teamText(message, steps, { endpoint, model });
  if (file === null || file.length > MAX_YAML_CHARACTERS) {
    throw new C3Error(
      'input',
      `The inputs of the agents in the episode of message ${message} are too long to be recorded or written in a team file; write one with a driver.`,
    );
  }
  return file;
}

/** The content of a team file for a program that is started again. */
export interface ProgramTeam {
  readonly command: readonly string[];
  /** A model that is served here, by its task or folder, or a server and its name for the model. */
  readonly answering: { readonly serve: string } | { readonly endpoint: string; readonly model: string };
  readonly evaluator: string;
}

/**
 * Writes a team file for a program that continues from a changed message by being started again.
 * @throws C3Error('input') if the command contains something that looks like a key, which no file
 *   may hold
 */
export function writeProgramTeam({ command, answering, evaluator }: ProgramTeam): string {
  if (maskText(command.join(' ')).count > 0) {
    throw new C3Error(
      'input',
      'The command has something that looks like a key, which is not written to a file: let the program read it from a variable of the environment.',
    );
  }
  const policy =
    'serve' in answering ? answering : { policy: { endpoint: answering.endpoint, model_name: answering.model } };
  return [
    '# The program is started again for each replay; what was said before is answered from the recording.',
    stringify({ program: command, ...policy, evaluator }, { lineWidth: 0 }),
  ].join('\n');
}

function teamText(message: number, steps: readonly EpisodeStep[], { endpoint, model }: NamedModel): string {
  const unknown = steps.flatMap((step, index) => ('event' in step ? [`${index + 1} (${step.event})`] : []));
  const unseen = unseenSteps(steps);
  const policy = { endpoint: endpoint ?? 'http://127.0.0.1:8000/v1', model_name: model ?? 'NAME' };
  const isNamed = endpoint !== null && model !== null;
  const notes = [
    `Inferred from the episode of message ${message}: who spoke next, and what each saw. Read it, then replay with it.`,
    '{of: 2} is what step 2 said, {of: question} the question; every other text stays as it was recorded.',
    ...(unknown.length > 0
      ? [
          `No source is known for step ${unknown.join(', ')}. Where its text is always the same, write it there as text.`,
        ]
      : []),
    ...(unseen.length > 0
      ? [`No later step shows what was said in step ${unseen.join(', ')}: another text there changes nothing after it.`]
      : []),
  ];
  const named = stringify({ policy }, { lineWidth: 0 }).trimEnd().split('\n');
  return [
    ...notes.map((note) => `# ${note.replace(/\s+/gu, ' ')}`),
    ...(isNamed ? named : ['# Name who answers:', ...named.map((line) => `# ${line}`)]),
    '# What is right, where the log does not say, and how it is scored:',
    "# answer: '19'",
    'evaluator: exact',
    stringify({ steps }, { lineWidth: 0 }),
  ].join('\n');
}
