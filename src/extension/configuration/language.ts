/**
 * Language support for `*.c3.yaml`: completions, hovers, diagnostics with quick fixes, and code
 * lenses. The parser is loaded when such a file is opened.
 */

import { dirname } from 'node:path';
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';
import {
  CodeAction,
  CodeActionKind,
  CompletionItem,
  CompletionItemKind,
  Diagnostic,
  DiagnosticSeverity,
  Hover,
  languages,
  MarkdownString,
  Range,
  SnippetString,
  workspace,
  WorkspaceEdit,
  type DocumentFilter,
  type Position,
  type TextDocument,
  CodeLens,
  EventEmitter,
  type CodeLensProvider,
  type Command,
  type Uri,
} from 'vscode';
import { toErrorMessage } from '../../shared/errors.ts';
import { Disposables } from '../common/disposables.ts';
import type { Services } from '../services.ts';
import type { Suggestion, Suggestions } from './help.ts';
import { loadService, type Service } from './load.ts';
import type { Overlap, OverlapCheck } from './overlap.ts';

/** The language's id in package.json. */
export const CONFIGURATION_LANGUAGE = 'c3yaml';

const DOCUMENTS: readonly DocumentFilter[] = ['file', 'untitled'].map((scheme) => ({
  language: CONFIGURATION_LANGUAGE,
  scheme,
}));
/** Delay between a change of the text and its check. */
const CHECK_MILLISECONDS = 200;
/** Maximum time that the other faults wait for the result of the overlap check. */
const OVERLAP_MILLISECONDS = 50;
const KINDS = {
  section: CompletionItemKind.Module,
  key: CompletionItemKind.Property,
  value: CompletionItemKind.EnumMember,
} as const;
const SEVERITIES = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
} as const;
const NEXT = { command: 'editor.action.triggerSuggest', title: 'Suggest keys and values' };

export class ConfigurationLanguage {
  private readonly disposables = new Disposables();
  private readonly services: Services;
  private readonly overlapEntry: string;
  private readonly faults = this.disposables.add(languages.createDiagnosticCollection('c3'));
  private readonly actions: ConfigurationActions;
  private readonly timers = new Map<TextDocument, NodeJS.Timeout>();
  private readonly overlaps = new Map<TextDocument, OverlapCheck>();

  /** @param overlapEntry absolute path of the thread that reads data files */
  constructor(services: Services, overlapEntry: string) {
    this.services = services;
    this.overlapEntry = overlapEntry;
    this.actions = this.disposables.add(
      new ConfigurationActions(services, (document) => this.faults.get(document.uri) ?? []),
    );
    const own = [...DOCUMENTS];
    this.disposables.add(
      languages.registerCompletionItemProvider(
        own,
        { provideCompletionItems: (document, position) => this.complete(document, position) },
        ':',
        ' ',
        '{',
        '[',
        ',',
        '/',
      ),
    );
    this.disposables.add(
      languages.registerHoverProvider(own, { provideHover: (document, position) => this.hover(document, position) }),
    );
    this.disposables.add(
      languages.registerCodeActionsProvider(
        own,
        { provideCodeActions: (document, _, { diagnostics }) => this.fixes(document, diagnostics) },
        { providedCodeActionKinds: [CodeActionKind.QuickFix] },
      ),
    );
    this.disposables.add(languages.registerCodeLensProvider(own, this.actions));
    this.disposables.add(workspace.onDidOpenTextDocument((document) => this.checkSoon(document, 0)));
    this.disposables.add(
      workspace.onDidChangeTextDocument(({ document }) => this.checkSoon(document, CHECK_MILLISECONDS)),
    );
    // A file that a path names may have been created meanwhile.
    this.disposables.add(workspace.onDidSaveTextDocument((document) => this.checkSoon(document, 0)));
    this.disposables.add(workspace.onDidGrantWorkspaceTrust(() => this.checkAll()));
    this.disposables.add(workspace.onDidCloseTextDocument((document) => this.forget(document)));
    this.checkAll();
  }

  dispose(): void {
    for (const timer of this.timers.values()) {
      clearTimeout(timer);
    }
    for (const overlap of this.overlaps.values()) {
      overlap.dispose();
    }
    this.disposables.dispose();
  }

  private checkAll(): void {
    for (const document of workspace.textDocuments) {
      this.checkSoon(document, 0);
    }
  }

  private checkSoon(document: TextDocument, milliseconds: number): void {
    if (languages.match([...DOCUMENTS], document) === 0) {
      return;
    }
    clearTimeout(this.timers.get(document));
    this.timers.set(
      document,
      setTimeout(() => {
        this.timers.delete(document);
        this.check(document).catch((error: unknown) =>
          this.services.log.error(`checking ${document.uri.fsPath}: ${toErrorMessage(error)}`),
        );
      }, milliseconds),
    );
  }

  private async check(document: TextDocument): Promise<void> {
    const service = await loadService();
    const [text, version] = [document.getText(), document.version];
    const found = service
      .checkConfig(text)
      .map((fault) => toDiagnostic(document, fault, SEVERITIES[fault.severity ?? 'error']));
    const base = findBaseFolder(document);
    const absent = base === null ? [] : await service.missing(base, service.pathsIn(text));
    const show = (overlap: Overlap | null): void => {
      // Closed or changed meanwhile: the later event shows or clears the faults.
      if (document.isClosed || document.version !== version) {
        return;
      }
      const missing = absent.map((fault) => toDiagnostic(document, fault, DiagnosticSeverity.Warning));
      const severity = overlap?.refused === true ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning;
      this.faults.set(document.uri, [
        ...found,
        ...missing,
        ...(overlap === null ? [] : [toDiagnostic(document, overlap, severity)]),
      ]);
      this.actions.refresh();
    };
    const overlap = base === null ? Promise.resolve(null) : this.overlapCheck(service, document).of(text, base);
    // A known overlap stays visible without a flicker. An unknown one takes longer than the others should
    // wait.
    const early = await Promise.race([overlap, setTimeoutPromise(OVERLAP_MILLISECONDS, undefined)]);
    show(early ?? null);
    if (early === undefined) {
      show(await overlap);
    }
  }

  private overlapCheck({ OverlapCheck: Check }: Service, document: TextDocument): OverlapCheck {
    const check = this.overlaps.get(document) ?? new Check(this.overlapEntry);
    this.overlaps.set(document, check);
    return check;
  }

  private forget(document: TextDocument): void {
    clearTimeout(this.timers.get(document));
    this.overlaps.get(document)?.dispose();
    this.overlaps.delete(document);
    this.timers.delete(document);
    this.faults.delete(document.uri);
  }

  private async complete(document: TextDocument, position: Position): Promise<CompletionItem[]> {
    const service = await loadService();
    const found = service.suggestionsAt(document.getText(), document.offsetAt(position));
    if (found === null) {
      return [];
    }
    const range = toCompletionRanges(document, found, position);
    const named = found.items.map((item, index) => toCompletionItem(item, index, range));
    return [...(await completePath(service, document, found, position)), ...named];
  }

  private async hover(document: TextDocument, position: Position): Promise<Hover | undefined> {
    const found = (await loadService()).hoverAt(document.getText(), document.offsetAt(position));
    return found === null ? undefined : new Hover(new MarkdownString(found.markdown), toEditorRange(document, found));
  }

  /** Computes the quick fixes on request, from the current text. */
  private async fixes(document: TextDocument, diagnostics: readonly Diagnostic[]): Promise<CodeAction[]> {
    return (await loadService()).checkConfig(document.getText()).flatMap((fault) => {
      const range = toEditorRange(document, fault);
      const about = diagnostics.filter((one) => one.message === fault.message && one.range.isEqual(range));
      if (fault.replacement === null || about.length === 0) {
        return [];
      }
      const action = new CodeAction(`Change to ${fault.replacement}`, CodeActionKind.QuickFix);
      action.edit = new WorkspaceEdit();
      action.edit.replace(document.uri, range, fault.replacement);
      action.diagnostics = about;
      action.isPreferred = true;
      return [action];
    });
  }
}

/** Returns the folder that a document's paths are relative to, or null if the disk may not be read. */
function findBaseFolder({ uri }: TextDocument): string | null {
  if (!workspace.isTrusted) {
    return null;
  }
  if (uri.scheme === 'file' || uri.path.includes('/')) {
    return dirname(uri.fsPath);
  }
  return workspace.workspaceFolders?.[0]?.uri.fsPath ?? null;
}

/** Completes a path with entries of the disk. */
async function completePath(
  service: Service,
  document: TextDocument,
  { path, end }: Suggestions,
  position: Position,
): Promise<CompletionItem[]> {
  const base = path === null ? null : findBaseFolder(document);
  if (path === null || base === null) {
    return [];
  }
  const segment = path.typed.slice(path.typed.lastIndexOf('/') + 1);
  const from = position.translate(0, -segment.length);
  const range = { inserting: new Range(from, position), replacing: new Range(from, document.positionAt(end)) };
  return (await service.entriesBelow(base, path.typed, path.names)).map(({ name, folder }, index) => {
    const item = new CompletionItem(
      folder ? `${name}/` : name,
      folder ? CompletionItemKind.Folder : CompletionItemKind.File,
    );
    item.insertText = `${path.space ? ' ' : ''}${name}${folder ? '/' : ''}`;
    item.filterText = name;
    item.range = range;
    item.sortText = `0${String(index).padStart(4, '0')}`;
    if (folder) {
      item.command = NEXT;
    }
    return item;
  });
}

function toCompletionItem(
  { label, snippet, detail, markdown, kind, goesOn }: Suggestion,
  index: number,
  range: { readonly inserting: Range; readonly replacing: Range },
): CompletionItem {
  const item = new CompletionItem(label, KINDS[kind]);
  item.insertText = new SnippetString(snippet);
  if (detail !== '') {
    item.detail = detail;
  }
  item.documentation = new MarkdownString(markdown);
  item.range = range;
  item.sortText = `1${String(index).padStart(4, '0')}`;
  if (goesOn) {
    item.command = NEXT;
  }
  return item;
}

function toCompletionRanges(
  document: TextDocument,
  { start, end }: Suggestions,
  position: Position,
): { readonly inserting: Range; readonly replacing: Range } {
  const from = document.positionAt(start);
  return { inserting: new Range(from, position), replacing: new Range(from, document.positionAt(end)) };
}

function toEditorRange(
  document: TextDocument,
  { start, end }: { readonly start: number; readonly end: number },
): Range {
  return new Range(document.positionAt(start), document.positionAt(end));
}

function toDiagnostic(
  document: TextDocument,
  fault: { readonly start: number; readonly end: number; readonly message: string },
  severity: DiagnosticSeverity,
): Diagnostic {
  const found = new Diagnostic(toEditorRange(document, fault), fault.message, severity);
  found.source = 'C3';
  return found;
}

// Code lenses above the first line: start the run, plan it, or go to the first problem.

const TOP = new Range(0, 0, 0, 0);
/** A non-breaking space: the editor drops a plain one after an icon. */
const GAP = '\u00a0';

class ConfigurationActions implements CodeLensProvider {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<void>());
  private readonly services: Services;
  private readonly faultsOf: (document: TextDocument) => readonly Diagnostic[];
  private running = false;
  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(services: Services, faultsOf: (document: TextDocument) => readonly Diagnostic[]) {
    this.services = services;
    this.faultsOf = faultsOf;
    // A run reports progress often. Only its start and its end change the lenses.
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

  /** Updates the lenses after the problems of a document have changed. */
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
          ...createShowCommand(uri, first.range),
        },
      ];
    }
    return [
      // While a run is in progress, another one is queued.
      {
        title: this.services.runs.running ? `$(watch)${GAP}Queue this run` : `$(play)${GAP}Start this run`,
        command: 'c3.startRun',
        arguments: [uri],
      },
      { title: `$(dashboard)${GAP}Plan memory and budget`, command: 'c3.planRun', arguments: [uri] },
    ];
  }
}

function createShowCommand(uri: Uri, selection: Range): Omit<Command, 'title'> {
  return { command: 'vscode.open', tooltip: 'Go to the first problem', arguments: [uri, { selection }] };
}
