import { type EngineKind } from '../mock-engine.options';
import { RouteTable } from '../route-table';
import { addAudio } from './audio.routes';
import { addChat } from './chat.routes';
import { addSglangGenerate, addVllmGenerate } from './generate.routes';
import { addMessages } from './messages.routes';
import { addPooling } from './pooling.routes';
import { addRealtime } from './realtime.routes';
import { addResponses } from './responses.routes';
import { addSglangControl } from './sglang-control.routes';
import { addSglangInfo } from './sglang-info.routes';
import { addVllmTokens } from './token.routes';
import { addVllm } from './vllm-control.routes';

/** Every route of one kind of engine. */
export function routesOf(kind: EngineKind): RouteTable {
  const table = new RouteTable();
  addChat(table);
  addMessages(table);
  addResponses(table);
  addPooling(table);
  addAudio(table);
  addRealtime(table);
  if (kind === 'vllm') {
    addVllmGenerate(table);
    addVllm(table);
    addVllmTokens(table);
  } else {
    addSglangGenerate(table);
    addSglangInfo(table);
    addSglangControl(table);
  }
  return table;
}
