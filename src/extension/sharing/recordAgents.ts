/** "Record agents": a program of the user's, whose messages are stored while it runs. */
import { ProgressLocation, window, workspace, type CancellationToken } from 'vscode';
import type { RecordParams } from '../../shared/protocols/engineProtocol.ts';
import type { Recorded } from '../../shared/records/logImport.ts';
import { counted, words } from '../../shared/text/words.ts';
import { withoutLinks } from '../common/plainText.ts';
import type { Services } from '../services.ts';
import { askForMasking, showImported, type ImportedViews } from './importLog.ts';

const TITLE = 'Record agents';

/**
 * Asks for a command, runs it in the workspace folder, and opens the transcript of what its agents said; of several
 * episodes, their list. A dialog that is left starts nothing; Cancel ends the program and keeps what was stored.
 */
export async function recordAgents(services: Services, views: ImportedViews): Promise<void> {
  // Only in a trusted workspace: there is no engine elsewhere.
  const client = services.engine.client();
  const wanted = await askForProgram();
  if (wanted === null) {
    return;
  }
  const [program] = wanted.command;
  const { report, ended } = await window.withProgress(
    { location: ProgressLocation.Notification, title: `Recording ${withoutLinks(program)}`, cancellable: true },
    (progress, token) => following(services, client, wanted, progress.report.bind(progress), token),
  );
  if (ended !== 0) {
    const how = typeof ended === 'number' ? `exit code ${String(ended)}` : ended;
    void window.showWarningMessage(`The program ended with ${how}. C3: Show log has its output.`);
  }
  await showImported(services, views, report);
}

/** Records, with what the program prints in the log and the messages so far in the notification. */
async function following(
  { engine, log }: Services,
  client: ReturnType<Services['engine']['client']>,
  wanted: RecordParams,
  say: (value: { message: string }) => void,
  token: CancellationToken,
): Promise<Recorded> {
  const listener = engine.onRecordProgress((progress) => {
    if ('line' in progress) {
      log.info(progress.line);
    } else {
      say({ message: `${counted(progress.messages, 'message')} stored` });
    }
  });
  try {
    return await client.record(wanted, token);
  } finally {
    listener.dispose();
  }
}

/** The program, who answers it, and whether keys are masked; null where a dialog was left. */
async function askForProgram(): Promise<RecordParams | null> {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const typed = await window.showInputBox({
    title: `${TITLE} (1 of 3)`,
    prompt:
      'The command that starts your program. It runs in the workspace folder, with OPENAI_BASE_URL and OTEL_EXPORTER_OTLP_ENDPOINT set to C3.',
    placeHolder: 'node team.mjs',
    ignoreFocusOut: true,
    validateInput: (text) => (words(text).length > 0 ? null : 'A program and its arguments, such as node team.mjs.'),
  });
  const [program, ...args] = words(typed ?? '');
  if (folder === undefined || program === undefined) {
    return null;
  }
  const upstream = await askForServer();
  if (upstream === undefined) {
    return null;
  }
  const maskSecrets = await askForMasking(`${TITLE} (3 of 3)`);
  return maskSecrets === undefined ? null : { command: [program, ...args], folder, upstream, maskSecrets };
}

/** The server to which calls go on; null for the usual one, undefined where the question was left. */
async function askForServer(): Promise<string | null | undefined> {
  const usual = {
    label: 'The server that it asks now',
    detail: 'The address in OPENAI_BASE_URL, or https://api.openai.com/v1. Your program gives its own key.',
  };
  const other = { label: 'Another server…', detail: 'Any server with an OpenAI-compatible protocol.' };
  const choice = await window.showQuickPick([usual, other], {
    title: `${TITLE} (2 of 3)`,
    placeHolder: 'Which server answers its calls?',
    ignoreFocusOut: true,
  });
  return choice === other
    ? window.showInputBox({
        title: `${TITLE} (2 of 3)`,
        prompt: 'The base address of the server.',
        placeHolder: 'http://127.0.0.1:8000/v1',
        ignoreFocusOut: true,
        validateInput: (text) =>
          URL.canParse(text) && /^https?:\/\//iu.test(text) ? null : 'An address begins with https:// or http://.',
      })
    : choice === usual
      ? null
      : undefined;
}
