/** Entry point of the taxonomy page. */

import '../common/common.css';
import '../common/term.css';
import '../common/stickyHead.css';
import './style.css';
import './cases.css';
import { byId } from '../common/dom.ts';
import { editorHost } from '../common/host.ts';
import { TaxonomyPanel } from './panel.ts';

new TaxonomyPanel(byId('app'), editorHost());
