/** The chat models of VS Code, offered to the engine over its connection. */
import {
  CancellationTokenSource,
  LanguageModelChatMessage,
  lm,
  type CancellationToken,
  type ExtensionContext,
  type LanguageModelChat,
  type LanguageModelChatSelector,
} from 'vscode';
import type { EditorModels } from '../../shared/protocols/editorProtocol.ts';
import type { EditorModel } from '../../shared/rolePolicies.ts';
import { ChatModels } from './chatModels.ts';

export function editorModels({ languageModelAccessInformation: access }: ExtensionContext): EditorModels {
  return new ChatModels<LanguageModelChatMessage, CancellationToken, LanguageModelChat>({
    select: async (model) => lm.selectChatModels(selectorOf(model)),
    canAsk: (model) => access.canSendRequest(model),
    user: (text) => LanguageModelChatMessage.User(text),
    assistant: (text) => LanguageModelChatMessage.Assistant(text),
    cancellation: () => new CancellationTokenSource(),
  });
}

/** Without the keys that say nothing. */
const selectorOf = ({ vendor, family, version, id }: EditorModel): LanguageModelChatSelector => ({
  ...(vendor !== undefined && { vendor }),
  ...(family !== undefined && { family }),
  ...(version !== undefined && { version }),
  ...(id !== undefined && { id }),
});
