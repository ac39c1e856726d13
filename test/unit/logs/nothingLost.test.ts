/** Every text of every form is in the transcript, said by whom it was said. */

import { describe, it } from 'node:test';
import { FORMS } from './forms.ts';
import { plant } from './planting.ts';

describe('a planted text', () => {
  for (const [name, form] of Object.entries(FORMS)) {
    it(`is in the transcript of ${name}`, () => {
      plant(name, form, 25);
    });
  }
});
