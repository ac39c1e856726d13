/** Runs the steps of a team file: the protocol that was inferred from a log and confirmed by the user. */

import type { ChatMessage } from '../../chat/messages.ts';
import type { LogEvent } from '../../domain/episode.ts';
import type { Problem } from '../../domain/problem.ts';
import { contextText } from '../../logs/contextForm.ts';
import { seenMessages, type EpisodeStep } from '../../logs/inferred.ts';
import type { ProgramStep } from '../../replay/program.ts';
import { throwIfAborted } from '../../shared/cancellation.ts';
import { C3Error } from '../../shared/errors.ts';
import type { AskingProgram } from './drivenProgram.ts';

/** Names that every server accepts. */
const SERVER_NAME = /^[\w-]{1,64}$/u;

export class InferredProgram implements AskingProgram {
  readonly ownContexts: boolean;
  private readonly steps: readonly EpisodeStep[];
  private readonly path: string;
  private readonly bodies = new Map<string, string>();

  /** @param path of the team file, for errors */
  constructor(
    steps: readonly EpisodeStep[],
    { path, ownContexts }: { readonly path: string; readonly ownContexts: boolean },
  ) {
    this.steps = steps;
    this.path = path;
    this.ownContexts = ownContexts;
  }

  readonly next = ({ question }: Problem, log: readonly LogEvent[], signal: AbortSignal): Promise<ProgramStep> => {
    return Promise.resolve().then(() => {
      throwIfAborted(signal);
      return this.after(question, log);
    });
  };

  /**
   * Refuses steps that could not be continued later, before any model is asked.
   * @param from number of log entries that are known
   * @throws C3Error('engine') if a later step has no known source
   */
  check(from: number): void {
    const at = this.steps.findIndex((step, index) => index >= from && 'event' in step && step.text === undefined);
    const step = this.steps[at];
    if (step !== undefined && 'event' in step) {
      throw this.unknown(step.event, at);
    }
  }

  bodyOf(context: string): string {
    const body = this.bodies.get(context);
    if (body === undefined) {
      throw new Error('No step asked with such a context.');
    }
    return body;
  }

  private after(question: string, log: readonly LogEvent[]): ProgramStep {
    for (const [index, entry] of log.entries()) {
      const [planned, found] = [
        findStepSpeaker(this.steps[index]),
        entry.kind === 'decision' ? entry.role : entry.source,
      ];
      if (planned !== found) {
        throw this.error(`step ${index + 1} is ${planned ?? 'not there'}, where ${found} was recorded`);
      }
    }
    const step = this.steps[log.length];
    if (step === undefined) {
      return { kind: 'end', text: log.findLast(({ kind }) => kind === 'decision')?.text ?? '', reward: null };
    }
    if ('event' in step) {
      if (step.text === undefined) {
        throw this.unknown(step.event, log.length);
      }
      return { kind: 'event', source: step.event, text: step.text };
    }
    const said = log.map(({ text }) => text);
    const messages = seenMessages(step.sees, question, said);
    const context = contextText(messages);
    this.bodies.set(context, JSON.stringify({ messages: this.requestOf(messages) }));
    return { kind: 'message', role: step.role, context };
  }

  /** Formats messages for a server: results of tools refer to the calls before them. */
  private requestOf(messages: readonly ChatMessage[]): object[] {
    let open: { id: string; name: string }[] = [];
    return messages.map(({ role, name, text }, index) => {
      if (role === 'tool') {
        const call = open.find((one) => one.name === name);
        if (call === undefined) {
          throw this.error(
            `what ${name ?? 'a tool'} gave is sent to a model without the call that it answers; name a driver, which knows the calls`,
          );
        }
        open = open.filter((one) => one !== call);
        return { role, tool_call_id: call.id, content: text };
      }
      if (role !== 'assistant') {
        return { role, content: text };
      }
      const calls = splitCalls(text, listResultTools(messages, index));
      open = calls.made.map((call, place) => ({ id: `call_${index}_${place}`, name: call.name }));
      return {
        role,
        content: calls.made.length > 0 && calls.text === '' ? null : calls.text,
        ...(name !== null && SERVER_NAME.test(name) && { name }),
        ...(calls.made.length > 0 && {
          tool_calls: calls.made.map((call, place) => ({ id: open[place]?.id, type: 'function', function: call })),
        }),
      };
    });
  }

  private readonly unknown = (source: string, index: number): C3Error =>
    this.error(
      `what ${source} gives in step ${index + 1} has no known source; write its text there, give it as the result of the replayed message, or name a driver that makes it`,
    );

  private readonly error = (why: string): C3Error =>
    new C3Error('engine', `The steps of ${this.path} do not go on: ${why}. Nothing was invented.`);
}

const findStepSpeaker = (step: EpisodeStep | undefined): string | undefined =>
  step === undefined ? undefined : 'event' in step ? step.event : step.role;

/** Returns the tools whose results directly follow a message. */
function listResultTools(messages: readonly ChatMessage[], index: number): Set<string | null> {
  const after = messages.slice(index + 1);
  const end = after.findIndex(({ role }) => role !== 'tool');
  return new Set((end < 0 ? after : after.slice(0, end)).map(({ name }) => name));
}

/** Splits a text into the calls of given tools in its last lines, and the text before them. */
function splitCalls(
  said: string,
  tools: ReadonlySet<string | null>,
): { readonly text: string; readonly made: readonly { readonly name: string; readonly arguments: string }[] } {
  const lines = said.split('\n');
  const isCall = (line: string): boolean => tools.has(line.split(' ', 1)[0] ?? '');
  const first = lines.findLastIndex((line) => !isCall(line)) + 1;
  return {
    text: lines.slice(0, first).join('\n'),
    made: lines.slice(first).map((line) => {
      const [name = ''] = line.split(' ', 1);
      return { name, arguments: line.slice(name.length + 1) || '{}' };
    }),
  };
}
