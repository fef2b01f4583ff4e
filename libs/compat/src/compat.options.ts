/** What the framework routes are told. */
export interface CompatOptions {
  /** Control routes of engines at the root, for every engine; needs ENGINE_CONTROL. */
  readonly routerVerbs: boolean;
  /** Requests are followed, so that an abort goes to the engine that has the request. */
  readonly tracksRequests: boolean;
}
