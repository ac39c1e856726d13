/** The team file of a run that was recorded elsewhere: who answers, and which program goes on. */
import { window, workspace, type Uri } from 'vscode';
import { IMPORTED } from '../../shared/records/logImport.ts';
import { loadService } from '../configuration/load.ts';
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
    this.chosen ??= await chooseTeam(async () =>
      (await loadService()).inferredTeam(reader, message, { endpoint: null, model: null }),
    );
    return this.chosen === undefined ? null : { team: this.chosen.fsPath };
  }
}

/**
 * Naming a file here starts the program that it names.
 * @param infer writes a team file from the log; it is opened for the user to read, complete and save
 */
async function chooseTeam(infer: () => Promise<string>): Promise<Uri | undefined> {
  const [choose, write] = ['Choose Team File…', 'Infer From Log'];
  const said = await window.showInformationMessage(
    'This message was recorded elsewhere: a team file says who answers, and what comes after another message.',
    {
      modal: true,
      detail:
        'It names the servers that answer and the driver of your program, which is started. Without a driver, the order and what each agent saw can be inferred from the log: read the file, complete it, save it, and choose it here. The guide has more (Your own agents).',
    },
    choose,
    write,
  );
  if (said === write) {
    await window.showTextDocument(await workspace.openTextDocument({ language: 'yaml', content: await infer() }));
  }
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
