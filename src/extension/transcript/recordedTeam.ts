/** The team file of a run that was recorded elsewhere: who answers, and which program goes on. */
import { window, type Uri } from 'vscode';
import { IMPORTED } from '../../shared/records/logImport.ts';
import type { Services } from '../services.ts';

export class RecordedTeam {
  private readonly store: Services['store'];
  /** Asked for once. */
  private chosen: Uri | undefined;

  constructor(store: Services['store']) {
    this.store = store;
  }

  /** What a replay of a message needs beside its settings; null where the user left the question. */
  async of(message: number): Promise<{ readonly team?: string } | null> {
    const reader = this.store.reader();
    if (reader?.run(reader.message(message).run).method !== IMPORTED) {
      return {};
    }
    this.chosen ??= await chooseTeam();
    return this.chosen === undefined ? null : { team: this.chosen.fsPath };
  }
}

/** Naming a file here starts the program that it names. */
async function chooseTeam(): Promise<Uri | undefined> {
  const choose = 'Choose Team File…';
  const said = await window.showInformationMessage(
    'This message was recorded elsewhere: what comes after another message is known to its program alone.',
    {
      modal: true,
      detail:
        'A team file names the servers that answer and the driver of your program, which is started. The guide has how to write one (Your own agents).',
    },
    choose,
  );
  if (said !== choose) {
    return undefined;
  }
  const [file] =
    (await window.showOpenDialog({
      title: 'Team file of the recorded agents',
      openLabel: 'Replay',
      filters: { 'Team files': ['yaml', 'yml', 'json'] },
    })) ?? [];
  return file;
}
