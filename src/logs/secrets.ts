/** Texts that look like keys, by the prefixes that their makers give them; masked before anything of a log is kept. */

/** Each leaves what says which kind it was. */
const SECRETS: readonly RegExp[] = [
  /\b(Bearer\s+)[\w.~+/-]{16,}=*/giu,
  /\b(sk-(?:ant-|proj-)?)[\w-]{16,}/gu,
  /\b(gh[pousr]_)\w{20,}/gu,
  /\b(github_pat_)\w{20,}/gu,
  /\b(hf_)[A-Za-z0-9]{20,}/gu,
  /\b(xox[abprs]-)[\w-]{10,}/gu,
  /\b(A[KS]IA)[A-Z0-9]{16}\b/gu,
  /\b(AIza)[\w-]{30,}/gu,
];
const MASK = '[masked]';

/** The text with every secret-like part masked, and how many there were. */
export function masked(text: string): { readonly text: string; readonly count: number } {
  let count = 0;
  const cleaned = SECRETS.reduce(
    (sum, pattern) =>
      sum.replace(pattern, (_, prefix: string) => {
        count++;
        return `${prefix}${MASK}`;
      }),
    text,
  );
  return { text: cleaned, count };
}
