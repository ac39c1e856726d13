/**
 * Reports the tests of one file to the test run: its totals and processor time as JSON in the file that C3_TEST_TOTALS
 * names, and what a person reads on standard output.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { spec, type TestEvent } from 'node:test/reporters';
import { ownSeconds } from './processor.ts';

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const words = new spec();
  const pieces: string[] = [];
  words.on('data', (piece: unknown) => pieces.push(String(piece)));
  for await (const event of events) {
    words.write(event);
    if (event.type === 'test:summary') {
      const { tests, passed } = event.data.counts;
      const totals = { passed, failed: tests - passed, processorSeconds: ownSeconds() };
      writeFileSync(process.env['C3_TEST_TOTALS'] ?? 'totals.json', JSON.stringify(totals));
    }
  }
  // What failed, and why, comes with its end.
  const ended = once(words, 'end');
  words.end();
  await ended;
  yield pieces.join('');
}
