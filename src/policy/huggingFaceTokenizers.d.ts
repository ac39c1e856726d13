/**
 * The parts of @huggingface/tokenizers that are used here. The package's own declarations import
 * without file extensions, which NodeNext does not resolve.
 */
declare module '@huggingface/tokenizers' {
  export class Tokenizer {
    /** Takes the contents of tokenizer.json and tokenizer_config.json. */
    constructor(tokenizer: object, config: object);
    encode(text: string, options: { add_special_tokens: boolean }): { readonly ids: readonly number[] };
    decode(
      ids: readonly number[],
      options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
    ): string;
    token_to_id(token: string): number | undefined;
    get_vocab(withAddedTokens: boolean): ReadonlyMap<string, number>;
  }
}
