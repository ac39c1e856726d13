/**
 * Keeps keys of servers in the editor's secret storage, and their hosts in its global state. The keys
 * are sent only to the engine, over its connection.
 */

import { window, type Disposable, type Memento, type SecretStorage } from 'vscode';
import { isKey, isLocal, nameKeyVariable } from '../../shared/endpointKeys.ts';

const HOSTS = 'c3.endpointKeys';

export class EndpointKeys implements Disposable {
  private readonly secrets: SecretStorage;
  private readonly hosts: Memento;
  private readonly listener: Disposable;

  /** @param changed called when a key was set or removed in any window */
  constructor(secrets: SecretStorage, hosts: Memento, changed: () => void) {
    this.secrets = secrets;
    this.hosts = hosts;
    this.listener = secrets.onDidChange(({ key }) => {
      if (key.startsWith('C3_KEY_')) {
        changed();
      }
    });
  }

  /** Returns all keys, by the names of their environment variables. */
  async all(): Promise<Readonly<Record<string, string>>> {
    const entries = await Promise.all(
      Object.keys(this.known()).map(async (name) => [name, await this.secrets.get(name)] as const),
    );
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  /** Asks for an address and its key. An empty key removes the stored one. */
  async set(): Promise<void> {
    const base = await window.showInputBox({
      title: 'Set endpoint key (1 of 2)',
      prompt: 'The base address of the server, as policies name it. Its key is sent to this host and port only.',
      placeHolder: 'https://api.example.com/v1',
      ignoreFocusOut: true,
      validateInput: findKeyAddressFault,
    });
    const name = base === undefined ? null : nameKeyVariable(base);
    if (base === undefined || name === null) {
      return;
    }
    const { host } = new URL(base);
    const had = Object.hasOwn(this.known(), name);
    const key = await window.showInputBox({
      title: 'Set endpoint key (2 of 2)',
      prompt: `The key of ${host}. VS Code keeps it in its secret storage.${had ? ' Leave it empty to remove the key that is kept.' : ''}`,
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) =>
        isKey(text) || (text === '' && had) ? null : 'A key has letters, digits and signs, and no spaces.',
    });
    if (key === undefined) {
      return;
    }
    // The name is stored first: a secret with an unknown name could not be found again.
    if (key === '') {
      await this.secrets.delete(name);
      await this.remember(name, null);
    } else {
      await this.remember(name, host);
      await this.secrets.store(name, key);
    }
    void window.showInformationMessage(key === '' ? `Key of ${host} removed.` : `Key of ${host} set.`);
  }

  dispose(): void {
    this.listener.dispose();
  }

  private known(): Readonly<Record<string, string>> {
    return this.hosts.get<Readonly<Record<string, string>>>(HOSTS, {});
  }

  private async remember(name: string, host: string | null): Promise<void> {
    const others = Object.entries(this.known()).filter(([one]) => one !== name);
    await this.hosts.update(HOSTS, Object.fromEntries(host === null ? others : [...others, [name, host]]));
  }
}

function findKeyAddressFault(text: string): string | null {
  if (!URL.canParse(text) || !/^https?:\/\//iu.test(text)) {
    return 'An address begins with https:// or http://.';
  }
  if (nameKeyVariable(text) === null) {
    return 'The host of this address cannot have a key.';
  }
  return isLocal(text) || /^https:/iu.test(text) ? null : 'A key is sent over https, or within this machine.';
}
