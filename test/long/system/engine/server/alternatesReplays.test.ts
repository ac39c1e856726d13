import { alternatesReplays } from '../../../../system/engine/server/alternatesReplays.ts';

alternatesReplays(50, 10);
