/** Attacks with templates and tokenizers: a sample of each kind. */
import { modelTextsAttacks } from './modelTexts.ts';

modelTextsAttacks({ cancelled: 2, endless: 1, greedy: 3, templates: 100, tokenizers: 4 });
