/** An episode program that a driver runs. It keeps the requests behind its contexts. */

import { z } from 'zod';
import { toChatMessage, parseMessages, withToolNames } from '../../chat/messages.ts';
import type { LogEvent } from '../../domain/episode.ts';
import type { Problem } from '../../domain/problem.ts';
import { contextText } from '../../logs/contextForm.ts';
import type { EpisodeProgram, ProgramStep } from '../../replay/program.ts';
import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import type { DriverProcess } from './driverProcess.ts';

const LONGEST_NAME = 60;
/** Keys of a program's request that define the question; the replay sets the sampling. */
const bodySchema = z.object({
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  tools: z.unknown().optional(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.unknown().optional(),
  response_format: z.unknown().optional(),
});
const answerSchema = z.union([
  z.object({ next: z.object({ kind: z.literal('message'), role: z.string().min(1), body: bodySchema }) }),
  z.object({
    next: z.object({ kind: z.literal('event'), source: z.string().min(1).max(LONGEST_NAME), text: z.string() }),
  }),
  z.object({
    end: z.object({ text: z.string(), return: z.number().refine(isReturn, `must be ${RETURN_WORDS}`).nullish() }),
  }),
]);

/** A program that also returns the requests behind its contexts. */
export interface AskingProgram extends EpisodeProgram {
  /** Returns the request behind a context of this program, as JSON. */
  readonly bodyOf: (context: string) => string;
}

export class DrivenProgram implements AskingProgram {
  readonly ownContexts: boolean;
  private readonly driver: Pick<DriverProcess, 'ask'>;
  /** Requests by their contexts. */
  private readonly bodies = new Map<string, string>();

  constructor(driver: Pick<DriverProcess, 'ask'>, ownContexts = false) {
    this.ownContexts = ownContexts;
    this.driver = driver;
  }

  readonly next = async (
    { question }: Problem,
    log: readonly LogEvent[],
    signal: AbortSignal,
  ): Promise<ProgramStep> => {
    const said = await this.driver.ask({ question, log: log.map(toDriverEntry) }, signal);
    const parsed = answerSchema.safeParse(said);
    if (!parsed.success) {
      throw new C3Error(
        'engine',
        'The driver gave an answer of another form; give {"id", "next": {"kind": "message", "role", "body"}}, {"id", "next": {"kind": "event", "source", "text"}} or {"id", "end": {"text", "return"}}.',
      );
    }
    if ('end' in parsed.data) {
      return { kind: 'end', text: parsed.data.end.text, reward: parsed.data.end.return ?? null };
    }
    const { next } = parsed.data;
    if (next.kind === 'event') {
      return next;
    }
    const context = contextText(withToolNames(parseMessages(next.body.messages)).map(toChatMessage));
    this.bodies.set(context, JSON.stringify(next.body));
    return { kind: 'message', role: next.role, context };
  };

  bodyOf(context: string): string {
    const body = this.bodies.get(context);
    if (body === undefined) {
      throw new Error('The program asked with no such context.');
    }
    return body;
  }
}

/** Converts an entry of a log to the form that drivers read. */
const toDriverEntry = (event: LogEvent): object =>
  event.kind === 'decision'
    ? { kind: 'message', role: event.role, text: event.text }
    : { kind: 'event', source: event.source, text: event.text };
