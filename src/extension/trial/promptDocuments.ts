/**
 * Prompts as documents of the scheme c3-prompt: ordinary tabs, which the editor brings back after a reload. Saving one
 * keeps its draft in the workspace; the run stays as it was.
 */
import {
  CodeLens,
  EventEmitter,
  FileSystemError,
  FileType,
  languages,
  Range,
  Uri,
  workspace,
  type FileChangeEvent,
  type FileStat,
  type FileSystemProvider,
  type TextDocument,
} from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { Disposables, type Disposable } from '../common/disposables.ts';
import { FlatFiles } from '../documents/flatFiles.ts';
import { LONGEST_PROMPT, placeOfPrompt, promptPath, type PromptDrafts, type PromptPlace } from './promptDrafts.ts';

export const PROMPT_SCHEME = 'c3-prompt';

/** The language's id in package.json: its lines are wrapped, and nothing is added to them. */
const LANGUAGE = 'c3prompt';
/** The mark that says UTF-8, whatever the user's files are taken for. */
const MARK = '\uFEFF';
/** The editor shows no plain space behind an icon. */
const GAP = '\u00a0';
const TOP = new Range(0, 0, 0, 0);

export const promptUri = (place: PromptPlace): Uri => Uri.from({ scheme: PROMPT_SCHEME, path: promptPath(place) });

class PromptDocuments extends FlatFiles implements FileSystemProvider {
  private readonly changed = this.disposables.add(new EventEmitter<FileChangeEvent[]>());
  private readonly drafts: PromptDrafts;
  private readonly ownPrompt: (place: PromptPlace) => Promise<string>;
  /** How often each was saved: the editor asks whether a document is a newer one. */
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
    const place = placeOf(uri);
    return new TextEncoder().encode(`${MARK}${this.drafts.of(place) ?? (await this.ownPrompt(place))}`);
  }

  async writeFile(uri: Uri, content: Uint8Array): Promise<void> {
    const text = new TextDecoder().decode(content);
    if (text.length > LONGEST_PROMPT) {
      throw new C3Error('input', `A prompt has up to ${LONGEST_PROMPT.toLocaleString('en-US')} characters.`);
    }
    await this.drafts.set(placeOf(uri), text);
    this.saves.set(uri.path, (this.saves.get(uri.path) ?? 0) + 1);
  }
}

function placeOf(uri: Uri): PromptPlace {
  const place = placeOfPrompt(uri.path);
  if (place === null) {
    throw FileSystemError.FileNotFound(uri);
  }
  return place;
}

/** Registers the documents, and the lines above them. */
export function registerPrompts(drafts: PromptDrafts, ownPrompt: (place: PromptPlace) => Promise<string>): Disposable {
  const registered = new Disposables();
  const documents = registered.add(new PromptDocuments(drafts, ownPrompt));
  registered.add(workspace.registerFileSystemProvider(PROMPT_SCHEME, documents, { isCaseSensitive: true }));
  // By its address alone the editor takes it for plain text, after a reload too.
  registered.add(workspace.onDidOpenTextDocument(asPrompt));
  workspace.textDocuments.forEach(asPrompt);
  registered.add(languages.registerCodeLensProvider({ scheme: PROMPT_SCHEME }, { provideCodeLenses }));
  return registered;
}

function asPrompt(document: TextDocument): void {
  if (document.uri.scheme === PROMPT_SCHEME && document.languageId !== LANGUAGE) {
    void languages.setTextDocumentLanguage(document, LANGUAGE);
  }
}

const provideCodeLenses = ({ uri }: TextDocument): CodeLens[] => [
  new CodeLens(TOP, { title: `$(beaker)${GAP}Try this prompt`, command: 'c3.tryPrompt', arguments: [uri] }),
  new CodeLens(TOP, { title: 'Compare with the prompt of the run', command: 'c3.comparePrompt', arguments: [uri] }),
];
