/** Asks for the team file of a run that was recorded elsewhere, or writes one. */

import { join } from 'node:path';
import { Uri, window, workspace } from 'vscode';
import { IMPORTED } from '../../domain/episode.ts';
import { RECORDED_ROUND } from '../../domain/evaluation.ts';
import { chooseAnswerEvaluator } from '../../domain/problem.ts';
import { readSmall, writeNew } from '../../files/newFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { TEAM_TASKS } from '../../shared/runNames.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { findAddressFault, parseCommand, guessCommand, formatCommand } from '../common/programs.ts';
import { loadService, type Service } from '../configuration/load.ts';
import type { Services } from '../services.ts';

type Answering = Parameters<Service['programTeam']>[0]['answering'];

/** Maximum number of team files in one folder. */
const MOST_FILES = 100;
const TITLE = 'Start program again';

export class RecordedTeam {
  private readonly services: Pick<Services, 'store' | 'programs'>;
  /** The chosen team files, by run. */
  private readonly chosen = new Map<string, Uri>();

  constructor(services: Pick<Services, 'store' | 'programs'>) {
    this.services = services;
  }

  /** Returns the team file for a trial of a run, if it needs one. Returns null if the user canceled. */
  async ofRun(run: string): Promise<{ readonly team?: string } | null> {
    const [episode] =
      this.services.store
        .reader()
        ?.episodes({ run, phase: 'evaluate', iteration: RECORDED_ROUND.iteration, offset: 0, limit: 1 }) ?? [];
    return episode === undefined ? {} : this.of(episode.leaf);
  }

  /** Returns the team file for a replay of a message, if it needs one. Returns null if the user canceled. */
  async of(message: number): Promise<{ readonly team?: string } | null> {
    const reader = this.services.store.reader();
    const run = reader?.message(message).run;
    if (reader === null || run === undefined || reader.run(run).method !== IMPORTED) {
      return {};
    }
    const file = this.chosen.get(run) ?? (await this.choose(reader, run, message));
    if (file === undefined) {
      return null;
    }
    this.chosen.set(run, file);
    return { team: file.fsPath };
  }

  /** Asks for the team. Choosing a file or a command here starts the program that it names. */
  private async choose(reader: StoreReader, run: string, message: number): Promise<Uri | undefined> {
    const [again, choose, write] = ['Start Program Again…', 'Choose Team File…', 'Infer From Log'];
    const said = await window.showInformationMessage(
      'This message was recorded elsewhere: only its own program can continue after another message.',
      {
        modal: true,
        detail:
          'C3 can start the program again for each replay: earlier messages are answered from the recording, and its tools run again each time. You can also choose a team file that names a driver, or infer the order from the log: complete and save that file, then choose it here. See "Your own agents" in the guide.',
      },
      again,
      choose,
      write,
    );
    switch (said) {
      case again:
        return this.startAgain(reader, run, message);
      case choose:
        return (
          await window.showOpenDialog({
            title: 'Team file of the recorded agents',
            openLabel: 'Replay',
            filters: { 'Team files': ['yaml', 'yml', 'json'] },
          })
        )?.[0];
      case write: {
        const content = (await loadService()).inferredTeam(reader, message, { endpoint: null, model: null });
        await window.showTextDocument(await workspace.openTextDocument({ language: 'yaml', content }));
        return undefined;
      }
      default:
        return undefined;
    }
  }

  /** Asks for the command and the server of the recorded program, and writes a team file. */
  private async startAgain(reader: StoreReader, run: string, message: number): Promise<Uri | undefined> {
    const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
    if (folder === undefined) {
      return undefined;
    }
    const recorded = this.services.programs.get(run);
    const typed = await window.showInputBox({
      title: TITLE,
      prompt: 'The command that was recorded. It is started in the workspace folder for each replay.',
      value: recorded === undefined ? await guessCommand(folder) : formatCommand(recorded),
      ignoreFocusOut: true,
      validateInput: (text) => (parseCommand(text) === null ? 'A program and its arguments.' : null),
    });
    const command = parseCommand(typed ?? '');
    const answering = command === null ? undefined : await askForAnswering(reader, run);
    if (command === null || answering === undefined) {
      return undefined;
    }
    const { answer } = reader.problem(reader.fullMessage(message).problem);
    const { programTeam } = await loadService();
    return writeTeamFile(folder, programTeam({ command, answering, evaluator: chooseAnswerEvaluator(answer) }));
  }
}

/** Returns the model for the program: the recorded bundled team, or a server that the user names. */
async function askForAnswering(reader: StoreReader, run: string): Promise<Answering | undefined> {
  const model = reader.snapshots(IMPORTED).find((snapshot) => snapshot.run === run)?.base ?? '';
  const task = TEAM_TASKS.find((one) => model === `c3-${one}`);
  if (task !== undefined) {
    return { serve: task };
  }
  const endpoint = await window.showInputBox({
    title: TITLE,
    prompt: `The base address of the server that answers as ${model}. Its key is set with C3: Set endpoint key.`,
    value: process.env['OPENAI_BASE_URL'] ?? 'https://api.openai.com/v1',
    ignoreFocusOut: true,
    validateInput: findAddressFault,
  });
  return endpoint === undefined ? undefined : { endpoint, model };
}

/** Returns a file with this content, an existing or a new one. Overwrites no file and follows no link. */
function writeTeamFile(folder: string, content: string): Uri {
  for (let number = 1; number <= MOST_FILES; number++) {
    const path = join(folder, number === 1 ? 'team.yaml' : `team-${number}.yaml`);
    try {
      writeNew(path, content);
      return Uri.file(path);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
        throw error;
      }
    }
    if (readSmall(path, Buffer.byteLength(content)) === content) {
      return Uri.file(path);
    }
  }
  throw new C3Error('input', `${folder} has ${MOST_FILES} team files; remove those that are no longer used.`);
}
