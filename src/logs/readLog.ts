/** A log in whichever form it is: one JSON document, or one in each line. */
import { C3Error, messageOf } from '../shared/errors.ts';
import { conversationLog, conversationsIn, isConversation } from './conversations.ts';
import type { RecordedLog } from './episode.ts';
import { isTrace, spansIn } from './spans.ts';
import { traceLog } from './traces.ts';

/** Lines with a document of their own. */
const MOST_LINES = 1_000_000;

/**
 * The episodes of a log.
 * @param source names the file in errors
 * @returns null where it is no log of a known form
 * @throws C3Error('input') for a line that is not JSON among others that are
 */
export function readLog(text: string, source: string): RecordedLog | null {
  const values = documentsOf(text, source);
  if (values.some(isTrace)) {
    return traceLog(values.flatMap(spansIn));
  }
  const conversations = values.flatMap(conversationsIn);
  return conversations.some(isConversation) ? conversationLog(conversations) : null;
}

function documentsOf(text: string, source: string): unknown[] {
  try {
    return [JSON.parse(text) as unknown];
  } catch (error) {
    if (!(error instanceof SyntaxError)) {
      throw error;
    }
  }
  const lines = text.split('\n', MOST_LINES + 1);
  if (lines.length > MOST_LINES) {
    throw new C3Error('input', `${source} has more than ${String(MOST_LINES)} lines; split it into smaller files.`);
  }
  return lines.flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) {
      return [];
    }
    try {
      return [JSON.parse(trimmed) as unknown];
    } catch (error) {
      throw new C3Error(
        'input',
        `${source}:${String(index + 1)}: the line is not JSON (${messageOf(error).slice(0, 120)}); give one JSON document, or one in each line.`,
        { cause: error },
      );
    }
  });
}
