/** Storage for choices of the user, such as the workspace state of the editor. */
export interface ListKeeper {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}
