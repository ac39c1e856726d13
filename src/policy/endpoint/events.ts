/** Reads server-sent events as model servers use them: the data of each event, with a length limit. */

/**
 * Yields the data of each event of a stream (WHATWG HTML, section 9.2.6). Other fields are skipped.
 * @param most characters of one event
 * @throws RangeError if an event is longer
 */
export async function* readEventStream(
  chunks: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  /** True if the rest ends with a carriage return. */
  let held = false;
  let data: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be half of a line end. An unfinished line is not searched
    // again.
    const isOpen = !held && !/[\r\n]/u.test(text);
    held = text === '' ? held : text.endsWith('\r');
    rest += text;
    const lines = isOpen ? [] : rest.split(/\r\n|\n|\r(?!$)/u);
    rest = lines.pop() ?? rest;
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) {
          yield data.join('\n');
        }
        data = [];
        length = 0;
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
        length += line.length;
      }
    }
    if (rest.length + length > most) {
      throw new RangeError(`an event has more than ${most} characters`);
    }
  }
}
