import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import type { Message } from '../../../../src/domain/message.ts';
import { saveModel, printSteps } from '../../../../src/engine/run/runOutput.ts';
import type { RunProgress } from '../../../../src/shared/protocols/jobs.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import type { RunControl } from '../../../../src/training/runContext.ts';

const configured = (...overrides: readonly string[]): Parameters<typeof saveModel>[0] => ({
  config: readConfig('', 'x', overrides),
  folder: resolve('/project'),
});

describe('saveModel', () => {
  async function saved(
    recipe: Parameters<typeof saveModel>[0],
    steps = 3,
    failure: Error | null = null,
  ): Promise<{ readonly asked: unknown[]; readonly remarks: string[] }> {
    const [asked, remarks]: [unknown[], string[]] = [[], []];
    await saveModel(
      recipe,
      { run: 'c3-0-1234', steps },
      (remark) => remarks.push(remark),
      (format, out) => {
        asked.push([format, out]);
        return failure === null ? Promise.resolve([out]) : Promise.reject(failure);
      },
    );
    return { asked, remarks };
  }

  it('writes nothing unless it is asked to', async () =>
    assert.deepEqual(await saved(configured()), { asked: [], remarks: [] }));

  it('writes the model, or the adapters, into the folder that is named or one of the run', async () => {
    const { asked, remarks } = await saved(configured('output.save_model=true'));
    assert.deepEqual(asked, [['model', resolve('/project/output/c3-0-1234')]]);
    assert.match(remarks.join(), /^output\.save_model: the trained weights are in .*c3-0-1234\.$/u);
    const adapter = await saved(configured('output={save_model: true, save_path: mine}', 'adapter={rank: 2}'));
    assert.deepEqual(adapter.asked, [['adapter', resolve('/project/mine')]]);
  });

  it('says what became of it where it cannot', async () => {
    const none = await saved(configured('output.save_model=true'), 0);
    assert.deepEqual([none.asked.length, none.remarks.length], [0, 1]);
    assert.match(none.remarks.join(), /nothing was trained/u);
    const failed = await saved(configured('output.save_model=true'), 3, new Error('The disk is full.'));
    assert.match(
      failed.remarks.join(),
      /The disk is full\. The run is stored; `c3 export --run c3-0-1234 --format model/u,
    );
  });
});

const MESSAGE: Message = {
  id: 1,
  run: 'r',
  phase: 'train',
  iteration: 2,
  problem: 'a',
  snapshot: 's',
  role: 'actor',
  turn: 0,
  position: 1,
  parent: null,
  bucket: null,
  siblingIndex: 0,
  contextKey: '1',
  text: '',
  tokenCount: 1,
  finish: 'end',
  return: null,
  leaves: 0,
  credit: null,
  trainingCredit: null,
};

describe('speaking', () => {
  const progress = (more: Partial<RunProgress>): RunProgress => ({
    run: 'r',
    stage: 'train',
    done: 2,
    total: 4,
    metrics: null,
    remainingSeconds: null,
    message: '',
    ...more,
  });
  const control: RunControl = { signal: new AbortController().signal, onProgress: () => undefined };

  it('leaves a run that is not verbose alone', () => {
    assert.equal(
      printSteps(
        configured(),
        control,
        () => assert.fail(),
        () => assert.fail(),
      ),
      control,
    );
  });

  it('prints the episodes of the first question when a step ended', () => {
    const lines: string[] = [];
    const spoken = printSteps(
      configured('output.verbose=true'),
      control,
      (line) => lines.push(line),
      (work) =>
        work({
          episodes: ({ iteration }) =>
            [
              { problem: 'a', leaf: 1, return: 1.5, rule: 'exact' },
              { problem: 'a', leaf: 2, return: null, rule: 'lost' },
              { problem: 'b', leaf: 3, return: 1, rule: 'exact' },
            ].map((one, id) => ({
              ...one,
              id,
              run: 'r',
              phase: 'train',
              iteration,
              question: 'How\nmany?',
              answer: '',
              evaluatorCalls: 1,
            })),
          chain: () => [{ ...MESSAGE, text: `says\n${'x'.repeat(500)}` }],
        }),
    );
    spoken.onProgress(progress({}));
    assert.equal(lines.length, 0);
    spoken.onProgress(progress({ metrics: {} as never }));
    assert.equal(lines.length, 3);
    assert.equal(lines[0], 'Step 2, "How⏎many?":');
    assert.match(lines[1] ?? '', /^ {2}actor: says⏎x+.* \| return 1\.500 \(exact\)$/u);
    assert.match(lines[2] ?? '', /not scored \(lost\)$/u);
    assert.ok(lines.every((line) => line.length < 500 && !line.includes('\n')));
  });
});
