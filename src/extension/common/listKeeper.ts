/** Where choices of the user are kept; the editor's workspace state is one. */
export interface ListKeeper {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}
