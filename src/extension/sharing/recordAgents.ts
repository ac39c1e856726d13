/** The command "Record agents", which runs a program of the user and stores its messages. */

import { ProgressLocation, QuickPickItemKind, window, workspace, type CancellationToken } from 'vscode';
import type { Recorded } from '../../domain/episode.ts';
import { rightAnswer, type RightAnswer } from '../../domain/problem.ts';
import type { RecordParams } from '../../shared/protocols/engineProtocol.ts';
import { TEAM_TASKS } from '../../shared/runNames.ts';
import { formatCounted } from '../../shared/text/words.ts';
import { withoutIcons, withoutLinks } from '../common/plainText.ts';
import { findAddressFault, parseCommand, guessCommand, formatCommand } from '../common/programs.ts';
import type { Services } from '../services.ts';
import { askForMasking, showImported, type ImportedViews } from './importLog.ts';
import { describeAnsweringServers, createRecordRequest, describeUsualServer } from './recordRequest.ts';

const TITLE = 'Record agents';

/**
 * Asks for a command and runs it in the workspace folder. Opens the recorded transcript, or the list
 * of episodes if there are several. Starts nothing if the user cancels a question. Cancel in the
 * notification ends the program and keeps the stored messages.
 */
export async function recordAgents(services: Services, views: ImportedViews): Promise<void> {
  // Throws in an untrusted workspace, which has no engine.
  const client = services.engine.client();
  const wanted = await askForProgram();
  if (wanted === null) {
    return;
  }
  const [program] = wanted.command;
  const { report, ended } = await window.withProgress(
    { location: ProgressLocation.Notification, title: `Recording ${withoutLinks(program)}`, cancellable: true },
    (progress, token) => recordWithProgress(services, client, wanted, progress.report.bind(progress), token),
  );
  if (ended !== 0) {
    const how = typeof ended === 'number' ? `exit code ${ended}` : ended;
    void window.showWarningMessage(`The program ended with ${how}. C3: Show log has its output.`);
  }
  services.programs.set(report.run, wanted.command);
  await showImported(services, views, report);
}

/** Records a program. Its output goes to the log, and the notification counts the messages. */
async function recordWithProgress(
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
      say({ message: `${formatCounted(progress.messages, 'message')} stored` });
    }
  });
  try {
    return await client.record(wanted, token);
  } finally {
    listener.dispose();
  }
}

/** Asks for the program, its server, the right answer and masking. Returns null if the user canceled. */
async function askForProgram(): Promise<RecordParams | null> {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (folder === undefined) {
    return null;
  }
  const typed = await window.showInputBox({
    title: `${TITLE} (1 of 4)`,
    prompt:
      'The command that starts your program. It runs in the workspace folder, with OPENAI_BASE_URL, ANTHROPIC_BASE_URL and OTEL_EXPORTER_OTLP_ENDPOINT set to C3.',
    placeHolder: 'node team.mjs',
    value: await guessCommand(folder),
    ignoreFocusOut: true,
    validateInput: (text) =>
      parseCommand(text) === null ? 'A program and its arguments, such as node team.mjs.' : null,
  });
  const command = parseCommand(typed ?? '');
  const answering = command === null ? undefined : await askForServerOrTeam();
  const right = answering === undefined ? undefined : await askForRightAnswer();
  if (command === null || answering === undefined || right === undefined) {
    return null;
  }
  const request = (maskSecrets: boolean): RecordParams =>
    createRecordRequest({ command, folder, ...answering, right, maskSecrets }, process.env);
  // The last question says what will start.
  const begins = `This starts ${formatCommand(command)}, and ${describeAnsweringServers(request(true))}.`;
  const maskSecrets = await askForMasking(`${TITLE} (4 of 4)`, `${begins} Mask what looks like a key?`);
  return maskSecrets === undefined ? null : request(maskSecrets);
}

/** Asks for the server, or for a model that is served here. Returns undefined if the user canceled. */
async function askForServerOrTeam(): Promise<Pick<RecordParams, 'upstream' | 'serve'> | undefined> {
  const usual = {
    label: 'The server that it asks now',
    detail: withoutIcons(`${describeUsualServer(process.env)} Your program gives its own key.`),
    serve: null,
  };
  const other = { label: 'Another server…', detail: 'Any server with an OpenAI-compatible protocol.', serve: null };
  const separator = (label: string) => ({ label, kind: QuickPickItemKind.Separator, serve: null });
  const servers = [separator('A server'), usual, other];
  const bundled = [
    separator('Served here, without a key'),
    ...TEAM_TASKS.map((task) => ({
      label: `The bundled team for ${task}`,
      detail: task === TEAM_TASKS[0] ? 'A small model that comes with C3 and answers on this machine.' : '',
      serve: task,
    })),
  ];
  // A user with neither an address nor a key has no server yet.
  const hasServer = ['OPENAI_BASE_URL', 'OPENAI_API_KEY'].some((name) => (process.env[name] ?? '') !== '');
  const choice = await window.showQuickPick(hasServer ? [...servers, ...bundled] : [...bundled, ...servers], {
    title: `${TITLE} (2 of 4)`,
    placeHolder: 'Who answers its calls?',
    ignoreFocusOut: true,
  });
  if (choice === undefined) {
    return undefined;
  }
  if (choice !== other) {
    return { upstream: null, serve: choice.serve };
  }
  const upstream = await window.showInputBox({
    title: `${TITLE} (2 of 4)`,
    prompt: 'The base address of the server.',
    placeHolder: 'http://127.0.0.1:8000/v1',
    ignoreFocusOut: true,
    validateInput: findAddressFault,
  });
  return upstream === undefined ? undefined : { upstream, serve: null };
}

/** Asks for the right answer. Returns null if it is left empty, or undefined if the user canceled. */
async function askForRightAnswer(): Promise<RightAnswer | null | undefined> {
  const typed = await window.showInputBox({
    title: `${TITLE} (3 of 4)`,
    prompt:
      'The right answer: a number that the last message must state, or a text that it must contain. Leave it empty if it is unknown, or if your program sends its own score.',
    placeHolder: 'The right answer (optional)',
    ignoreFocusOut: true,
  });
  return typed === undefined ? undefined : typed.trim() === '' ? null : rightAnswer(typed);
}
