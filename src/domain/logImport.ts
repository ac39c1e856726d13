/** What an import of recorded agents found and stored. */
import { counted } from '../shared/text/words.ts';

/** What runs are called whose messages come from a file: their method, weights, environment and the rule of scores. */
export const IMPORTED = 'imported';

/**
 * How it is known who spoke: the log names it, or its system prompt gives it a name or sets it apart, or there is one
 * speaker only; or it is whoever spoke beyond as many as a team may have.
 */
export type SpeakerSource = 'name' | 'prompt name' | 'system prompt' | 'only speaker' | 'renamed' | 'further speakers';

export interface LogImport {
  readonly run: string;
  /** True where the same log is in the store already, and nothing was stored. */
  readonly known: boolean;
  readonly format: string;
  readonly episodes: number;
  readonly messages: number;
  readonly events: number;
  /** Episodes with a score. */
  readonly scored: number;
  readonly speakers: readonly { readonly name: string; readonly by: SpeakerSource; readonly messages: number }[];
  readonly leftOut: Readonly<Record<string, number>>;
  /** Secret-like texts that were masked; null where nobody asked. */
  readonly masked: number | null;
}

/** What a program's recording came to. */
export interface Recorded {
  readonly report: LogImport;
  /** How the program ended: its exit code, or the signal that ended it. */
  readonly ended: number | string;
  /** What is wrong with the new names of speakers; null for nothing. All is stored in either case. */
  readonly problem: string | null;
}

const BY: Readonly<Record<SpeakerSource, string>> = {
  name: 'named by the log',
  'prompt name': 'named by its system prompt',
  'system prompt': 'recognized by its system prompt',
  'only speaker': 'the log names nobody',
  renamed: 'renamed by you',
  'further speakers': 'more than a team can have, taken together',
};

/** An import in lines: what was stored, who spoke and how sure that is, and what was left out. */
export function importLines(report: LogImport): string[] {
  const { run, known, format, episodes, messages, events, scored, speakers, leftOut, masked } = report;
  const found = `${counted(episodes, 'episode')} from ${format}, with ${counted(messages, 'message')} and ${counted(events, 'event')} from outside; ${String(scored)} with a score.`;
  return [
    known
      ? `Run ${run} holds this log already; nothing was stored.`
      : episodes === 0
        ? 'Nothing was stored: the log holds no episode.'
        : `Run ${run}: ${found}`,
    ...speakers.map(({ name, by, messages: said }) => `  ${name}: ${counted(said, 'message')}, ${BY[by]}`),
    ...Object.entries(leftOut).map(([reason, count]) => `Left out: ${reason}: ${String(count)}.`),
    ...(masked === null ? [] : [`Masked: ${counted(masked, 'text')} that look like keys.`]),
  ];
}
