import { serveParent } from './child-rpc';
import { closedLoop } from './closed-loop';
import { holdStreams, pacedStreams, releaseStreams } from './streams';

/** The clients, in a process of their own: raw sockets, prepared bytes, no HTTP library. */
serveParent({ closedLoop, pacedStreams, hold: holdStreams, release: releaseStreams });
