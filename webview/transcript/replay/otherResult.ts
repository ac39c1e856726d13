/** Another result of the tool that a recorded message called: what would the team have said then? */
import { MAX_EVENT_TEXT } from '../../../src/domain/episode.ts';
import { h } from '../../common/dom.ts';
import { button, textArea } from '../../common/toolkit.ts';

/**
 * The recorded result, to be edited.
 * @param replay hears the edited one
 */
export function otherResult(
  { source, text }: { readonly source: string; readonly text: string },
  replay: (text: string) => void,
): HTMLElement {
  const field = textArea(`Result of ${source}`, { rows: 3, resize: 'vertical', maxlength: MAX_EVENT_TEXT });
  field.value = text;
  const start = button('Replay with this result', () => replay(field.value), {
    title: 'Continue the message with this result, and with the recorded one beside it',
  });
  return h('details', { class: 'typed' }, h('summary', {}, `Try another result of ${source}`), field, start);
}
