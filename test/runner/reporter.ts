/**
 * Reports the tests of a process to the test run: the totals of its outermost tests and suites and
 * its processor time, as JSON in the file that C3_TEST_TOTALS names. The readable report goes to
 * standard output.
 */

import { writeFileSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { spec, type TestEvent } from 'node:test/reporters';
import { ownSeconds } from './processor.ts';

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const words = new spec();
  const pieces: string[] = [];
  words.on('data', (piece: unknown) => pieces.push(String(piece)));
  const parts: { name: string; passed: number; failed: number; milliseconds: number }[] = [];
  let [passed, failed] = [0, 0];
  for await (const event of events) {
    words.write(event);
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { name, nesting, details, skip, todo } = event.data;
      // Skipped and unfinished (todo) tests have not passed.
      const good = event.type === 'test:pass' && skip === undefined && todo === undefined;
      if (details.type !== 'suite') {
        passed += good ? 1 : 0;
        failed += good ? 0 : 1;
      } else if (!good && nesting === 0 && failed === 0) {
        // The file of the suite cannot be loaded, or a hook failed.
        failed = 1;
      }
      if (nesting === 0) {
        parts.push({ name, passed, failed, milliseconds: details.duration_ms });
        [passed, failed] = [0, 0];
      }
    }
    if (event.type === 'test:summary') {
      const totals = JSON.stringify({ parts, processorSeconds: ownSeconds() });
      writeFileSync(process.env['C3_TEST_TOTALS'] ?? 'totals.json', totals);
    }
  }
  // The reporter prints the reasons of failures at its end.
  words.end();
  await finished(words);
  yield pieces.join('');
}
