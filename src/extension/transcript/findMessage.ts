/** The command "Find message", which searches all stored messages and questions while the user types. */

import { QuickPickItemKind, window, type QuickPickItem } from 'vscode';
import type { Message } from '../../domain/message.ts';
import { toErrorMessage } from '../../shared/errors.ts';
import type { FoundQuestion, StoreReader } from '../../store/read/reader.ts';
import { oneLine } from '../common/oneLine.ts';
import { withoutIcons } from '../common/plainText.ts';
import { Throttle } from '../common/throttle.ts';
import { describeFoundMessage } from './foundMessage.ts';

const SHOWN = 100;
const SHOWN_QUESTIONS = 20;
const SEARCH_MILLISECONDS = 150;

interface MessageItem extends QuickPickItem {
  /** The message, or null for a separator. */
  readonly message: number | null;
}

/** Lets the user find a message. Returns undefined if the user canceled. */
export function findMessage(reader: StoreReader): Promise<number | undefined> {
  const pick = window.createQuickPick<MessageItem>();
  pick.title = 'Find message';
  pick.placeholder = 'Words of the message or of the question';
  pick.matchOnDescription = true;
  // The user may copy words from elsewhere in the window.
  pick.ignoreFocusOut = true;
  const search = new Throttle(SEARCH_MILLISECONDS, () => {
    try {
      const { total, more, messages } = reader.searchMessages({ query: pick.value, offset: 0, limit: SHOWN });
      const questions = reader.searchQuestions({ query: pick.value, limit: SHOWN_QUESTIONS });
      pick.items = [
        ...createItemGroup('questions', questions.map(createQuestionItem)),
        ...createItemGroup(
          'messages',
          messages.map((message) => createMessageItem(message, reader)),
        ),
      ];
      const shown = total > SHOWN ? `, the ${more ? 'newest' : 'best'} ${SHOWN} shown` : '';
      pick.title =
        pick.value.trim() === ''
          ? 'Find message'
          : `Find message: ${more ? 'more than ' : ''}${total} found${shown}${describeQuestionCount(questions.length)}`;
    } catch (error) {
      pick.title = toErrorMessage(error);
    }
  });
  return new Promise((resolve) => {
    pick.onDidChangeValue(() => search.trigger());
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.message ?? undefined);
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      search.dispose();
      pick.dispose();
    });
    pick.show();
  });
}

/** Describes the number of questions that were found. The search stops at the maximum that is shown. */
function describeQuestionCount(count: number): string {
  if (count === 0) {
    return '';
  }
  return `; in ${count === SHOWN_QUESTIONS ? 'at least ' : ''}${count === 1 ? '1 question' : `${count} questions`}`;
}

/** Puts a separator with a label above items. */
function createItemGroup(label: string, items: readonly MessageItem[]): MessageItem[] {
  return items.length === 0 ? [] : [{ label, kind: QuickPickItemKind.Separator, message: null }, ...items];
}

function createQuestionItem({ run, phase, iteration, question, message }: FoundQuestion): MessageItem {
  const label = withoutIcons(oneLine(question));
  return { label, detail: `${withoutIcons(run)}, ${phase} ${iteration}`, alwaysShow: true, message };
}

function createMessageItem(message: Message, reader: StoreReader): MessageItem {
  const { question } = reader.problem(message.problem);
  // Always shown: the store has matched the words, and the editor must not filter by the label again.
  return {
    label: withoutIcons(message.role),
    description: withoutIcons(oneLine(message.text)),
    detail: withoutIcons(describeFoundMessage(message, question, reader.run(message.run).title)),
    alwaysShow: true,
    message: message.id,
  };
}
