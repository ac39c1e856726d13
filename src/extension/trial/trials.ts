/** The command "Try a change": its questions, the tab of a prompt, the trial, and its panel. */

import {
  commands,
  ProgressLocation,
  Uri,
  ViewColumn,
  window,
  workspace,
  type WebviewPanel,
  CodeLens,
  EventEmitter,
  FileSystemError,
  FileType,
  languages,
  Range,
  type FileChangeEvent,
  type FileStat,
  type FileSystemProvider,
  type TextDocument,
} from 'vscode';
import { IMPORTED } from '../../domain/episode.ts';
import { RECORDED_ROUND } from '../../domain/evaluation.ts';
import {
  NO_CHANGE,
  readRecordedSampling,
  TRIAL_BUDGET,
  type TeamChange,
  type Trial,
  type TrialProblems,
} from '../../domain/trial.ts';
import { readContextText } from '../../logs/contextForm.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { TrialParams } from '../../shared/protocols/engineProtocol.ts';
import { TRIAL_PANEL, type TrialFromHost } from '../../shared/protocols/trialProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { askForFolder } from '../common/askForFolder.ts';
import { Disposables, type Disposable } from '../common/disposables.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import { withoutLinks } from '../common/plainText.ts';
import { readSpendingLimit } from '../common/settings.ts';
import { loadService, type Service } from '../configuration/load.ts';
import { createSourceUri } from '../documents/documents.ts';
import { FlatFiles } from '../documents/flatFiles.ts';
import { askForModelFolder } from '../model/chooseModel.ts';
import type { Services } from '../services.ts';
import { RecordedTeam } from '../transcript/recordedTeam.ts';
import { confirmCosts } from '../webview/confirmCosts.ts';
import { SinglePanel } from '../webview/panels.ts';
import { askForChange } from './askForChange.ts';
import { keepChange } from './keepChange.ts';
import { formatCasePath, formatCaseText, LastTrial, SIDES, type KeptTrial } from './keptTrial.ts';
import {
  parsePromptPath,
  PromptDrafts,
  formatPromptPath,
  normalizePrompt,
  type PromptPlace,
  LONGEST_PROMPT,
} from './promptDrafts.ts';
import { findRunFault } from './trialFaults.ts';
import { TrialSession } from './trialSession.ts';

/** Maximum length of a question in the title of its diff, in characters. */
const TITLE = 60;
/** Evaluator calls of a trial of a recorded program, which may start once for each episode. */
const RECORDED_BUDGET = 200;
/** Recorded episodes that are searched for a message of a role. */
const EPISODES_READ = 100;

export class Trials {
  private readonly disposables = new Disposables();
  private readonly services: Services;
  private readonly last: LastTrial;
  private readonly recorded: RecordedTeam;
  private readonly panel: SinglePanel<typeof TRIAL_PANEL, TrialFromHost, KeptTrial, TrialSession>;
  /** True while a change is being tried. */
  private isTrying = false;

  constructor(services: Services, keeper: ListKeeper) {
    this.services = services;
    this.last = new LastTrial(keeper);
    this.recorded = new RecordedTeam(services);
    this.disposables.add(registerPrompts(new PromptDrafts(keeper), (place) => this.ownPrompt(place)));
    this.panel = new SinglePanel(
      TRIAL_PANEL,
      services,
      (opening, page) =>
        new TrialSession(opening, page, {
          openCase,
          keep: (last) => this.keep(last),
          tryAgain: ({ trial, change, team }, budget, problems) =>
            this.tryChange(trial.run, change, budget, problems, team),
          editPrompt: (run, role) => this.openPrompt({ run, role }),
        }),
    );
  }

  /** Returns the texts of the documents, by path. */
  readonly documents = {
    trial: (path: string): string => formatCaseText(this.last.value, path),
    prompt: (path: string): Promise<string> => {
      const place = parsePromptPath(`/${path}`);
      return place === null ? Promise.resolve('There is no such prompt.') : this.ownPrompt(place);
    },
  };

  dispose(): void {
    this.disposables.dispose();
  }

  /** Restores the panel after a reload, or closes it if its trial was not kept. */
  restore(tab: WebviewPanel): void {
    this.panel.restore(tab, (wanted) => wanted ?? this.last.value);
  }

  /** Closes the panel if it shows a run that was deleted. */
  closeRun(run: string): void {
    if (this.panel.session?.shownRun === run) {
      this.panel.close();
    }
  }

  /**
   * Asks for a change of a run and tries it. A prompt is opened for editing instead.
   * @param pickRun asks for the run if none is named
   * @param role the role; if undefined, the user is asked
   * @throws C3Error('input') with one sentence if no change can be tried
   */
  async ask(
    named: string | undefined,
    role: string | undefined,
    pickRun: (title: string) => Promise<string | undefined>,
  ): Promise<void> {
    // Throws before any question if the engine cannot be used.
    this.services.engine.client();
    const reader = this.reader();
    const run = named ?? (await pickRun('Try a change'));
    if (run === undefined) {
      return;
    }
    const fault = findRunFault(reader, run);
    if (fault !== null) {
      throw new C3Error('input', fault);
    }
    const team = await this.team(run);
    const asked = await askForChange(
      {
        roles: team.roles,
        sampling: readRecordedSampling(reader.runConfig(run)),
        steps: reader.run(run).steps,
        snapshots: reader.snapshotsOfRun(run).map(({ id }) => id),
        askForModel: () => askForModelFolder(this.services.modelFolders),
        askForAdapter: () => askForFolder('Choose adapter'),
        ...(this.isRecorded(run) && { askForProgram: askForTeamFile }),
      },
      role,
    );
    if (asked === undefined) {
      return;
    }
    await ('promptOf' in asked ? this.openPrompt({ run, role: asked.promptOf }) : this.tryChange(run, asked.change));
  }

  /**
   * Tries the prompt of a document, as it is in the editor.
   * @param argument the address of the document; by default the active one
   */
  async tryPrompt(argument: unknown): Promise<void> {
    const place = readPromptPlace(argument);
    const document = await workspace.openTextDocument(createPromptUri(place));
    this.services.engine.client();
    const { run, role } = place;
    const own = await this.ownPrompt(place);
    const prompt = normalizePrompt(document.getText(), own);
    const fault =
      findRunFault(this.reader(), run) ??
      (this.isRecorded(run) ? null : (await loadService()).promptFault(await this.team(run), role, prompt)) ??
      (prompt === own ? `The prompt of ${role} is the same as in the run: change it first.` : null);
    if (fault !== null) {
      throw new C3Error('input', fault);
    }
    await this.tryChange(run, { ...NO_CHANGE, prompts: { [role]: prompt } });
  }

  /** Compares a prompt with that of its run. */
  async comparePrompt(argument: unknown): Promise<void> {
    const place = readPromptPlace(argument);
    await commands.executeCommand(
      'vscode.diff',
      createSourceUri('prompt', formatPromptPath(place).slice(1)),
      createPromptUri(place),
      `Prompt of ${place.role}: the run's ↔ yours`,
    );
  }

  private async openPrompt(place: PromptPlace): Promise<void> {
    await window.showTextDocument(createPromptUri(place), { preview: false, viewColumn: ViewColumn.Active });
  }

  /** Tries a change and shows the result in the panel. */
  private async tryChange(
    run: string,
    change: TeamChange,
    budget: number = this.isRecorded(run) ? RECORDED_BUDGET : TRIAL_BUDGET.usual,
    problems: TrialProblems = 'all',
    team?: string,
  ): Promise<void> {
    if (this.isTrying) {
      throw new C3Error('input', 'A change is being tried already: wait for it, or cancel it.');
    }
    this.isTrying = true;
    try {
      const { title } = this.reader().run(run);
      const named = team === undefined ? await this.recorded.ofRun(run) : { team };
      if (named === null) {
        return;
      }
      const most = Math.min(budget, TRIAL_BUDGET.most);
      const trial = await this.tried({ run, change, problems, budget: most, ...named, ...readSpendingLimit() });
      if (trial === null) {
        return;
      }
      const number = (this.last.value?.number ?? 0) + 1;
      const last = { number, title, change, budget: most, problems, trial, ...named, kept: null };
      await this.last.set(last);
      this.panel.open(last);
    } catch (error) {
      if (!(error instanceof CancelledError)) {
        throw error;
      }
    } finally {
      this.isTrying = false;
    }
  }

  /** Runs a trial. Returns null if the user does not agree to the cost of servers. */
  private async tried(request: TrialParams): Promise<Trial | null> {
    const { engine } = this.services;
    const client = engine.client();
    const costs = await client.trialCosts(request);
    if (!(await confirmCosts(costs, 'Try the change with the help of servers?', 'Try'))) {
      return null;
    }
    return window.withProgress(
      { location: ProgressLocation.Notification, title: 'Trying the change', cancellable: true },
      async (progress, token) => {
        const listener = engine.onTrialProgress(({ words }) => progress.report({ message: words }));
        try {
          return await client.tryChange(request, token);
        } finally {
          listener.dispose();
        }
      },
    );
  }

  private async keep(last: KeptTrial): Promise<void> {
    const kept = await keepChange(last, this.reader());
    if (kept === null) {
      return;
    }
    const updated = { ...last, kept };
    if (this.last.value === last) {
      await this.last.set(updated);
      this.panel.session?.show(updated);
    }
    void window.showInformationMessage(withoutLinks(`The change is kept in ${kept}.`));
  }

  private async ownPrompt({ run, role }: PromptPlace): Promise<string> {
    await this.services.store.pending();
    const found = (await this.team(run)).roles.find(({ name }) => name === role);
    if (found === undefined) {
      throw new C3Error('input', `The team of this run has no role ${role}.`);
    }
    return this.isRecorded(run) ? readSystemMessage(this.reader(), run, role) : found.prompt;
  }

  private isRecorded(run: string): boolean {
    return this.reader().run(run).method === IMPORTED;
  }

  private async team(run: string): Promise<NonNullable<ReturnType<Service['runTeam']>>> {
    const team = (await loadService()).runTeam(this.reader().runConfig(run));
    if (team === null) {
      throw new C3Error('input', 'The team of this run cannot be read: it was written by another version.');
    }
    return team;
  }

  private reader(): StoreReader {
    const reader = this.services.store.reader();
    if (reader === null) {
      throw new C3Error('store', 'The store of this run no longer exists.');
    }
    return reader;
  }
}

/** Asks for the team file of another program. */
async function askForTeamFile(): Promise<string | undefined> {
  const chosen = await window.showOpenDialog({
    title: 'Team file of the other program',
    openLabel: 'Try',
    filters: { 'Team files': ['yaml', 'yml', 'json'] },
  });
  return chosen?.[0]?.fsPath;
}

/** Returns the system message of a recorded request of a role, or an empty text if it has none. */
function readSystemMessage(reader: StoreReader, run: string, role: string): string {
  const { iteration } = RECORDED_ROUND;
  for (const { leaf } of reader.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: EPISODES_READ })) {
    const said = reader.chain(leaf).findLast((message) => message.role === role);
    if (said !== undefined) {
      const messages = readContextText(reader.fullMessage(said.id).context) ?? [];
      return messages.find((message) => message.role === 'system')?.text ?? '';
    }
  }
  return '';
}

/** Shows both sides of a pair in the diff editor. */
async function openCase(last: KeptTrial, index: number): Promise<void> {
  const question = last.trial.cases[index]?.question ?? '';
  const [before, after] = SIDES.map((side) => createSourceUri('trial', formatCasePath(last, index, side)));
  await commands.executeCommand(
    'vscode.diff',
    before,
    after,
    `Without ↔ with the change: ${question.replaceAll(/\s+/gu, ' ').slice(0, TITLE)}`,
    { preview: true, viewColumn: ViewColumn.Active },
  );
}

/** @throws C3Error('input') if the document is not a prompt */
function readPromptPlace(argument: unknown): PromptPlace {
  const uri = argument instanceof Uri ? argument : window.activeTextEditor?.document.uri;
  const place = uri?.scheme === PROMPT_SCHEME ? parsePromptPath(uri.path) : null;
  if (place === null) {
    throw new C3Error('input', 'Open a prompt first, with "C3: Try a change".');
  }
  return place;
}

// Prompts as documents of the scheme c3-prompt, whose tabs the editor restores after a reload. Saving
// one keeps its draft in the workspace state and does not change the run.

const PROMPT_SCHEME = 'c3-prompt';

/** The language's id in package.json, whose settings wrap lines and add nothing to the text. */
const LANGUAGE = 'c3prompt';
/** Byte order mark, which overrides the user's encoding with UTF-8. */
const MARK = '\uFEFF';
/** A non-breaking space: the editor drops a plain one after an icon. */
const GAP = '\u00a0';
const TOP = new Range(0, 0, 0, 0);

const createPromptUri = (place: PromptPlace): Uri => Uri.from({ scheme: PROMPT_SCHEME, path: formatPromptPath(place) });

class PromptDocuments extends FlatFiles implements FileSystemProvider {
  private readonly changed = this.disposables.add(new EventEmitter<FileChangeEvent[]>());
  private readonly drafts: PromptDrafts;
  private readonly ownPrompt: (place: PromptPlace) => Promise<string>;
  /** Number of saves of each document, which serves as its modification time. */
  private readonly saves = new Map<string, number>();
  readonly onDidChangeFile = this.changed.event;

  constructor(drafts: PromptDrafts, ownPrompt: (place: PromptPlace) => Promise<string>) {
    super();
    this.drafts = drafts;
    this.ownPrompt = ownPrompt;
  }

  async stat(uri: Uri): Promise<FileStat> {
    const { length } = await this.readFile(uri);
    return { type: FileType.File, ctime: 0, mtime: this.saves.get(uri.path) ?? 0, size: length };
  }

  async readFile(uri: Uri): Promise<Uint8Array> {
    const place = requirePromptPlace(uri);
    return new TextEncoder().encode(`${MARK}${this.drafts.of(place) ?? (await this.ownPrompt(place))}`);
  }

  async writeFile(uri: Uri, content: Uint8Array): Promise<void> {
    const text = new TextDecoder().decode(content);
    if (text.length > LONGEST_PROMPT) {
      throw new C3Error('input', `A prompt has up to ${LONGEST_PROMPT.toLocaleString('en-US')} characters.`);
    }
    await this.drafts.set(requirePromptPlace(uri), text);
    this.saves.set(uri.path, (this.saves.get(uri.path) ?? 0) + 1);
  }
}

function requirePromptPlace(uri: Uri): PromptPlace {
  const place = parsePromptPath(uri.path);
  if (place === null) {
    throw FileSystemError.FileNotFound(uri);
  }
  return place;
}

/** Registers the documents and their code lenses. */
function registerPrompts(drafts: PromptDrafts, ownPrompt: (place: PromptPlace) => Promise<string>): Disposable {
  const registered = new Disposables();
  const documents = registered.add(new PromptDocuments(drafts, ownPrompt));
  registered.add(workspace.registerFileSystemProvider(PROMPT_SCHEME, documents, { isCaseSensitive: true }));
  // The editor opens such an address as plain text, also after a reload.
  registered.add(workspace.onDidOpenTextDocument(setPromptLanguage));
  workspace.textDocuments.forEach(setPromptLanguage);
  registered.add(languages.registerCodeLensProvider({ scheme: PROMPT_SCHEME }, { provideCodeLenses }));
  return registered;
}

function setPromptLanguage(document: TextDocument): void {
  if (document.uri.scheme === PROMPT_SCHEME && document.languageId !== LANGUAGE) {
    void languages.setTextDocumentLanguage(document, LANGUAGE);
  }
}

const provideCodeLenses = ({ uri }: TextDocument): CodeLens[] => [
  new CodeLens(TOP, { title: `$(beaker)${GAP}Try this prompt`, command: 'c3.tryPrompt', arguments: [uri] }),
  new CodeLens(TOP, { title: 'Compare with the prompt of the run', command: 'c3.comparePrompt', arguments: [uri] }),
];
