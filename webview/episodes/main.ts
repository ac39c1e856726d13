/** Entry point of the episodes page. */

import '../common/common.css';
import '../common/heads.css';
import '../common/rows.css';
import './style.css';
import './grid.css';
import '../common/keySheet.css';
import { byId } from '../common/dom.ts';
import { editorHost } from '../common/host.ts';
import { EpisodesPanel } from './panel.ts';

new EpisodesPanel(byId('app'), editorHost());
