/** Messages of models that write their thinking before the answer. */

/** A code fence, or a thinking tag at the beginning of a line; closing tags match anywhere. */
const MARK = /^[ \t]*(?:```|~~~)|^[ \t]*<think(?:ing)?>|<\/think(?:ing)?>/gimu;

/**
 * Returns a message without its thinking. It removes the text from each `<think>` at the beginning of
 * a line to its `</think>`, or to the end of a message that was cut off. It also removes the text
 * before a first `</think>` at the beginning of a line, whose opening tag was in the prompt. Tags
 * within fenced code are code.
 */
export function removeThinking(message: string): string {
  let said = '';
  /** Start of the current part, said or thought. */
  let start = 0;
  let state: 'said' | 'code' | 'thought' = 'said';
  let opened = false;
  for (const { 0: mark, index } of message.matchAll(MARK)) {
    const end = index + mark.length;
    if (mark.includes('/')) {
      if (state === 'thought') {
        [start, state] = [end, 'said'];
      } else if (!opened && isLineStart(message, index)) {
        [said, start, state] = ['', end, 'said'];
      }
      opened = true;
    } else if (mark.endsWith('>')) {
      if (state === 'said') {
        said += message.slice(start, index);
        [state, opened] = ['thought', true];
      }
    } else if (state !== 'thought') {
      state = state === 'said' ? 'code' : 'said';
    }
  }
  return state === 'thought' ? said : said + message.slice(start);
}

const isLineStart = (text: string, index: number): boolean =>
  text.slice(text.lastIndexOf('\n', index - 1) + 1, index).trim() === '';
