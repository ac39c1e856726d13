/**
 * What can be done with a configuration, above its first line: start the run, plan it, or go to what keeps it from
 * starting.
 */
import {
  CodeLens,
  DiagnosticSeverity,
  EventEmitter,
  Range,
  workspace,
  type CodeLensProvider,
  type Command,
  type Diagnostic,
  type TextDocument,
  type Uri,
} from 'vscode';
import { Disposables } from '../common/disposables.ts';
import type { Services } from '../services.ts';

const TOP = new Range(0, 0, 0, 0);
/** The editor shows no plain space behind an icon. */
const GAP = '\u00a0';

export class ConfigurationActions implements CodeLensProvider {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly services: Services;
  private readonly faultsOf: (document: TextDocument) => readonly Diagnostic[];
  private running = false;
  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(services: Services, faultsOf: (document: TextDocument) => readonly Diagnostic[]) {
    this.services = services;
    this.faultsOf = faultsOf;
    // A run speaks up often; only its beginning and its end matter here.
    this.disposables.add(
      services.runs.onDidChange(() => {
        if (services.runs.running === this.running) {
          return;
        }
        this.running = services.runs.running;
        this.changed.fire();
      }),
    );
    this.disposables.add(workspace.onDidGrantWorkspaceTrust(() => this.changed.fire()));
  }

  /** The problems of a document are others now. */
  refresh(): void {
    this.changed.fire();
  }

  provideCodeLenses(document: TextDocument): CodeLens[] {
    return this.commands(document).map((command) => new CodeLens(TOP, command));
  }

  dispose(): void {
    this.disposables.dispose();
  }

  private commands(document: TextDocument): Command[] {
    const { uri } = document;
    if (!workspace.isTrusted) {
      return [
        {
          title: `$(shield)${GAP}Starting and planning require a trusted workspace`,
          command: 'workbench.trust.manage',
        },
      ];
    }
    const errors = this.faultsOf(document).filter(({ severity }) => severity === DiagnosticSeverity.Error);
    const [first] = errors;
    if (first !== undefined) {
      return [
        {
          title: `$(error)${GAP}${errors.length === 1 ? '1 problem prevents' : `${errors.length} problems prevent`} this run from starting`,
          ...showCommand(uri, first.range),
        },
      ];
    }
    return [
      // While a run is in progress, another one waits for its turn.
      {
        title: this.services.runs.running ? `$(watch)${GAP}Queue this run` : `$(play)${GAP}Start this run`,
        command: 'c3.startRun',
        arguments: [uri],
      },
      { title: `$(dashboard)${GAP}Plan memory and budget`, command: 'c3.planRun', arguments: [uri] },
    ];
  }
}

function showCommand(uri: Uri, selection: Range): Omit<Command, 'title'> {
  return { command: 'vscode.open', tooltip: 'Go to the first problem', arguments: [uri, { selection }] };
}
