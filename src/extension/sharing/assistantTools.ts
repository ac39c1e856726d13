/**
 * Offers the tools of `c3 mcp` to language models in VS Code. The user confirms each replay and sees
 * its maximum cost.
 */

import {
  LanguageModelTextPart,
  LanguageModelToolResult,
  lm,
  MarkdownString,
  workspace,
  type LanguageModelTool,
  type Disposable,
} from 'vscode';
import { asksServers } from '../../domain/run.ts';
import { NO_FILTER, TAXONOMY_THRESHOLDS } from '../../domain/taxonomy.ts';
import { maskText } from '../../logs/secrets.ts';
import { replayRefusal, SEARCH_AT_SERVERS } from '../../report/assistant.ts';
import type * as questions from '../../report/questions.ts';
import { C3Error } from '../../shared/errors.ts';
import type {
  BlameParams,
  ReplayAsked,
  ReplayParams,
  RunBlameParams,
  RunSearchAsked,
  SearchAsked,
} from '../../shared/protocols/engineProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutLinks } from '../common/plainText.ts';
import { readSpendingLimit } from '../common/settings.ts';
import type { Services } from '../services.ts';
import { ShownReplays } from './shownReplays.ts';

const LIMIT = 10;
const MOST_CASES = 50;

interface RunAsked {
  readonly run: string;
  readonly limit?: number;
}

/** Registers the tools. VS Code checks their inputs against the schemas in package.json. */
export function registerAssistantTools(services: Services): readonly Disposable[] {
  const { engine, store } = services;
  const reading = async <Result>(
    work: (reader: StoreReader, asking: typeof questions, folder: string) => Result,
  ): Promise<Result> => {
    await store.pending();
    const reader = store.reader();
    if (reader === null) {
      throw new C3Error('input', 'This folder has no runs yet; start one with C3: Start C3 run.');
    }
    return work(reader, await import('../../report/questions.ts'), findFolderPath());
  };
  const shown = new ShownReplays<ReplayParams>();
  const searches = new ShownReplays<BlameParams>();
  const runSearches = new ShownReplays<RunBlameParams>();
  return [
    lm.registerTool(
      'c3_list_runs',
      createReadingTool<{ readonly limit?: number }>(({ limit = LIMIT }) =>
        reading((reader, { runRows }, folder) => runRows(reader, folder, limit)),
      ),
    ),
    lm.registerTool(
      'c3_lowest_credit_messages',
      createReadingTool<RunAsked>(({ run, limit = LIMIT }) =>
        reading((reader, { lowestCredit }, folder) => lowestCredit(reader, folder, run, limit)),
      ),
    ),
    lm.registerTool(
      'c3_failure_taxonomy',
      createReadingTool<RunAsked>(({ run }) =>
        engine
          .client()
          .taxonomy({ run, thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: MOST_CASES, fresh: true }),
      ),
    ),
    lm.registerTool(
      'c3_finding',
      createReadingTool<{ readonly message: number }>(({ message }) =>
        reading((reader, { buildLinkedFinding: findingOf }, folder) => findingOf(reader, folder, message)),
      ),
    ),
    lm.registerTool<SearchAsked>('c3_message_that_lost', {
      prepareInvocation: async ({ input }) => {
        const asking = { asked: input, folder: findFolderPath(), ...readSpendingLimit() };
        const { request, words } = await engine.client().assistantSearch(asking);
        searches.add(input, request);
        return createSearchConfirmation(words, { isLiteral: input.team !== undefined });
      },
      invoke: async ({ input }, token) => {
        const { message } = input;
        await reading((reader) => refuseServers(reader, reader.message(message).run));
        const found = await engine.client().blame(searches.take(input), token);
        store.touch();
        return toToolResult(
          await reading((reader, { withBlameLink: linkedBlame }, folder) =>
            linkedBlame(folder, reader.message(message).run, found),
          ),
        );
      },
    }),
    lm.registerTool<RunSearchAsked>('c3_what_loses_episodes', {
      prepareInvocation: async ({ input }) => {
        const asking = { asked: input, folder: findFolderPath(), ...readSpendingLimit() };
        const { request, words } = await engine.client().assistantRunSearch(asking);
        runSearches.add(input, request);
        return createSearchConfirmation(words, { isLiteral: input.team !== undefined });
      },
      invoke: async ({ input }, token) => {
        await reading((reader) => refuseServers(reader, input.run));
        const found = await engine.client().blameRun(runSearches.take(input), token);
        store.touch();
        return toToolResult(await reading((_, { withLossLinks: linkedLosses }, folder) => linkedLosses(folder, found)));
      },
    }),
    lm.registerTool<ReplayAsked>('c3_replay_message', {
      prepareInvocation: async ({ input }) => {
        const asking = { asked: input, folder: findFolderPath(), ...readSpendingLimit() };
        const { request, words } = await engine.client().assistantReplay(asking);
        shown.add(input, request);
        return {
          invocationMessage: `Replaying message ${input.message}`,
          confirmationMessages: {
            title: 'Replay this message?',
            message: toShownText(words, { isLiteral: input.team !== undefined }),
          },
        };
      },
      invoke: async ({ input }, token) => {
        const refusal = replayRefusal(input, []);
        if (refusal !== null) {
          throw new C3Error('input', refusal);
        }
        await engine.client().replay(shown.take(input), token);
        store.touch();
        return toToolResult(
          await reading((reader, { buildLinkedFinding: findingOf }, folder) =>
            findingOf(reader, folder, input.message),
          ),
        );
      },
    }),
  ];
}

/**
 * Returns the texts that ask the user to confirm a search. @param words the question with its maximum cost,
 * without its period
 */
const createSearchConfirmation = (words: string, how: { readonly isLiteral: boolean }) => ({
  invocationMessage: 'Searching',
  confirmationMessages: { title: 'Search?', message: toShownText(words, how) },
});

/** @param isLiteral true if the text contains a command, in which no markup is interpreted */
const toShownText = (words: string, { isLiteral }: { readonly isLiteral: boolean }): string | MarkdownString =>
  isLiteral ? new MarkdownString().appendText(`${words}.`) : withoutLinks(`${words}.`);

/** @throws C3Error('input') if servers answer for roles of the run */
function refuseServers(reader: StoreReader, run: string): void {
  if (asksServers(reader.runConfig(run))) {
    throw new C3Error('input', SEARCH_AT_SERVERS);
  }
}

/** Returns an answer for a model. Keys of servers in it are masked. */
const toToolResult = (value: unknown): LanguageModelToolResult =>
  new LanguageModelToolResult([new LanguageModelTextPart(maskText(JSON.stringify(value)).text)]);

const createReadingTool = <Input>(answer: (input: Input) => Promise<unknown>): LanguageModelTool<Input> => ({
  invoke: async ({ input }) => toToolResult(await answer(input)),
});

const findFolderPath = (): string => workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
