/** Shows findings that are kept as tests in the Test Explorer, and checks them. */

import {
  Range,
  RelativePattern,
  TestMessage,
  TestRunProfileKind,
  tests,
  workspace,
  window,
  type CancellationToken,
  type TestController,
  type TestItem,
  type TestRun,
  type TestRunRequest,
  type Uri,
} from 'vscode';
import { FINDING_FILE, type CheckedFinding } from '../../domain/answer.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { Disposables } from '../common/disposables.ts';
import type { Engine } from '../engine/engine.ts';
import { askForModelFolder } from '../model/chooseModel.ts';
import type { Services } from '../services.ts';
import { formatFindingLabel } from './findingLabel.ts';

const PATTERN = `**/*${FINDING_FILE}`;
const ELSEWHERE = '**/{node_modules,.git,.c3}/**';
/** Maximum number of files of a workspace that are shown. */
const MOST_FILES = 5000;

export function registerFindingTests({ engine, modelFolders }: Pick<Services, 'engine' | 'modelFolders'>): Disposables {
  const disposables = new Disposables();
  const controller = disposables.add(tests.createTestController('c3.findings', 'C3 findings'));
  const add = (file: Uri): void => {
    if (controller.items.get(file.toString()) !== undefined) {
      return;
    }
    const name = formatFindingLabel(file.path);
    const item = controller.createTestItem(file.toString(), name, file);
    item.description = workspace.asRelativePath(file);
    // The start of the file, since the whole file is one test.
    item.range = new Range(0, 0, 0, 0);
    controller.items.add(item);
  };
  const addAll = async (): Promise<void> => {
    for (const file of await workspace.findFiles(PATTERN, ELSEWHERE, MOST_FILES)) {
      add(file);
    }
  };
  controller.resolveHandler = (item) => (item === undefined ? addAll() : undefined);
  controller.refreshHandler = async () => {
    controller.items.replace([]);
    await addAll();
  };
  const run = async (request: TestRunRequest, token: CancellationToken, model: string | null): Promise<void> => {
    // A request for all tests may come before the files have been searched.
    if (request.include === undefined) {
      await addAll();
    }
    await checkFindings(engine, controller, request, token, model);
  };
  disposables.add(
    controller.createRunProfile('Check', TestRunProfileKind.Run, (request, token) => run(request, token, null), true),
  );
  disposables.add(
    controller.createRunProfile('Check another model', TestRunProfileKind.Run, async (request, token) => {
      const folder = await askForModelFolder(modelFolders);
      if (folder !== undefined) {
        await run(request, token, folder);
      }
    }),
  );
  for (const folder of workspace.workspaceFolders ?? []) {
    const watcher = disposables.add(workspace.createFileSystemWatcher(new RelativePattern(folder, PATTERN)));
    disposables.add(watcher.onDidCreate(add));
    disposables.add(watcher.onDidDelete((file) => controller.items.delete(file.toString())));
  }
  return disposables;
}

/** Checks the requested findings one after another, as the command line does. */
async function checkFindings(
  engine: Engine,
  controller: TestController,
  request: TestRunRequest,
  token: CancellationToken,
  model: string | null,
): Promise<void> {
  const all: TestItem[] = [];
  controller.items.forEach((item) => all.push(item));
  const left = new Set(request.exclude);
  const items = (request.include ?? all).filter((item) => !left.has(item));
  const run = controller.createTestRun(request);
  items.forEach((item) => run.enqueued(item));
  try {
    for (const item of items) {
      if (token.isCancellationRequested) {
        break;
      }
      await checkFindingTest(engine, run, item, token, model);
    }
  } catch (error) {
    if (!(error instanceof CancelledError)) {
      void window.showErrorMessage(toErrorMessage(error));
    }
  } finally {
    run.end();
  }
}

async function checkFindingTest(
  engine: Engine,
  run: TestRun,
  item: TestItem,
  token: CancellationToken,
  model: string | null,
): Promise<void> {
  run.started(item);
  const began = performance.now();
  const file = item.uri?.fsPath ?? '';
  try {
    const found = await engine.client().checkFinding({ file, model }, token);
    showOutcome(run, item, found, performance.now() - began);
  } catch (error) {
    if (error instanceof CancelledError) {
      throw error;
    }
    run.errored(item, new TestMessage(toErrorMessage(error)));
  }
}

function showOutcome(
  run: TestRun,
  item: TestItem,
  { sentence, passed, expect, error }: CheckedFinding,
  duration: number,
): void {
  const words = passed === false ? `Expected: ${expect}. ${sentence}` : sentence;
  run.appendOutput(`${item.label}: ${words}\r\n`, undefined, item);
  item.description = words;
  if (error !== null) {
    run.errored(item, new TestMessage(sentence), duration);
  } else if (passed === null) {
    run.skipped(item);
  } else if (passed) {
    run.passed(item, duration);
  } else {
    run.failed(item, new TestMessage(words), duration);
  }
}
