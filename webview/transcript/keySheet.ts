/** The sheet of the transcript: the keys of its tree and, from the glossary, its words. */
import { GLOSSARY } from '../../src/shared/text/glossary.ts';
import { h } from '../common/dom.ts';
import { keySheet } from '../common/keySheet.ts';
import { TREE_KEYS, TYPE_AHEAD_KEYS } from './keys.ts';

export function transcriptSheet(): ReturnType<typeof keySheet> {
  const words = Object.values(GLOSSARY).flatMap(({ name, meaning }) => [h('dt', {}, name), h('dd', {}, meaning)]);
  return keySheet(
    'Keys of the message tree',
    [...TREE_KEYS, TYPE_AHEAD_KEYS],
    h('h2', {}, 'Words'),
    h('dl', { class: 'words-list' }, ...words),
  );
}
