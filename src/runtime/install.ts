import { installAsyncResourceShim } from './async-resource.shim';

// Imported first by main.ts: Fastify and Nest bind functions from their first request on.
installAsyncResourceShim();
