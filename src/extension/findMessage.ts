/** "Find message": searches the text of every stored message while the user types. */
import { window, type QuickPickItem } from 'vscode';
import { messageOf } from '../shared/errors.ts';
import type { Message } from '../shared/records.ts';
import type { StoreReader } from '../store/reader.ts';
import { withoutIcons } from './plainText.ts';
import { Throttle } from './throttle.ts';
import { oneLine } from './runWords.ts';

const SHOWN = 100;
const SEARCH_MILLISECONDS = 150;

interface MessageItem extends QuickPickItem {
  readonly message: number;
}

/** The message that the user chose; undefined when the search was left. */
export function findMessage(reader: StoreReader): Promise<number | undefined> {
  const pick = window.createQuickPick<MessageItem>();
  pick.title = 'Find message';
  pick.placeholder = 'Words of the message';
  pick.matchOnDescription = true;
  // The words that are looked for may be copied from elsewhere in the window.
  pick.ignoreFocusOut = true;
  const search = new Throttle(SEARCH_MILLISECONDS, () => {
    try {
      const { total, more, messages } = reader.searchMessages({ query: pick.value, offset: 0, limit: SHOWN });
      pick.items = messages.map(itemOf);
      const shown = total > SHOWN ? `, the ${more ? 'newest' : 'best'} ${String(SHOWN)} shown` : '';
      pick.title = pick.value.trim() === '' ? 'Find message' : `Find message: ${more ? 'more than ' : ''}${String(total)} found${shown}`;
    } catch (error) {
      pick.title = messageOf(error);
    }
  });
  return new Promise((resolve) => {
    pick.onDidChangeValue(() => { search.trigger(); });
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.message);
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

function itemOf(message: Message): MessageItem {
  const round = `${message.phase} ${String(message.iteration)}`;
  // The store has matched already; the editor must not sift once more by the label.
  return { label: withoutIcons(message.eventType), description: withoutIcons(oneLine(message.text)), detail: `${withoutIcons(message.run)}, ${round}`, alwaysShow: true, message: message.id };
}
