/** Bundled teams as other programs call them: the roles in turn, their prompts, and which of them call a tool. */
const letter = (role, number, notes = false) => ({ role, system: `Say letter ${number}.`, maxTokens: 3, notes });
const TEAMS = {
  arithmetic: [
    { role: 'planner', system: 'Plan.', maxTokens: 16, notes: true },
    { role: 'actor', system: 'Solve.', maxTokens: 48, notes: false },
  ],
  chain: [letter('first', 1), letter('second', 2), letter('third', 3, true), letter('fourth', 4)],
};

/** A team in the order in which it speaks. */
export const teamNamed = (name) => TEAMS[name].map((one) => ({ ...one, model: `c3-${name}` }));

/** @param said the texts so far, in order */
export function asked(question, said) {
  const context = said.filter((text) => text.trim() !== '').join('\n\n');
  return `Problem:\n${question}${context === '' ? '' : `\n\nContext:\n${context}`}`;
}

/** The question of what was recorded, which is how the first model was asked. */
export const questionIn = (recorded) => recorded.replace(/^Problem:\n/u, '');

/**
 * What came out, and what it is worth: the number behind the hashes or, where the answer is -, all that was said,
 * for whoever scores it.
 * @param said the texts of all roles, in order
 */
export const outcomeOf = (said, answer) =>
  answer === '-'
    ? { text: said.join(',') }
    : { text: said.at(-1), return: said.at(-1).endsWith(`#### ${answer}`) ? 1 : 0 };
