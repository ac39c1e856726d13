/**
 * Reports the tests of a process to the test run: totals by file and its processor time as JSON in the file that
 * C3_TEST_TOTALS names, and what a person reads on standard output.
 */
import { writeFileSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { spec, type TestEvent } from 'node:test/reporters';
import { ownSeconds } from './processor.ts';

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const words = new spec();
  const pieces: string[] = [];
  words.on('data', (piece: unknown) => pieces.push(String(piece)));
  const files = new Map<string, { passed: number; failed: number; milliseconds: number }>();
  for await (const event of events) {
    words.write(event);
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { file = '', nesting, details, skip, todo } = event.data;
      const sum = files.get(file) ?? { passed: 0, failed: 0, milliseconds: 0 };
      // What was left out has not passed.
      const good = event.type === 'test:pass' && skip === undefined && todo === undefined;
      const counted = details.type === 'suite' ? 0 : 1;
      files.set(file, {
        passed: sum.passed + (good ? counted : 0),
        failed: sum.failed + (good ? 0 : counted),
        milliseconds: sum.milliseconds + (nesting === 0 ? details.duration_ms : 0),
      });
    }
    if (event.type === 'test:summary') {
      const totals = { processorSeconds: ownSeconds(), files: [...files].map(([file, sum]) => ({ file, ...sum })) };
      writeFileSync(process.env['C3_TEST_TOTALS'] ?? 'totals.json', JSON.stringify(totals));
    }
  }
  // Why tests failed comes at the end.
  words.end();
  await finished(words);
  yield pieces.join('');
}
