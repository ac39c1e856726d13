/** Attacks with templates and tokenizers: a sample of each kind. */
import { modelTextsAttacks } from './modelTexts.ts';

modelTextsAttacks({ cancelled: 1, endless: 1, greedy: 2, templates: 100, tokenizers: 4 });
