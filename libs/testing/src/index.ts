export { MockEngine, type RequestHook } from './mock-engine/mock-engine';
export { type EngineKind, type MockEngineOptions } from './mock-engine/mock-engine.options';
export { KvRooms } from './mock-engine/kv-rooms';
export { type Behaviour, type Chunk, type Cut, type CutKind } from './mock-engine/behaviour';
export { MockWebSocket, webSocketFrame, type ReceivedFrame } from './mock-engine/mock-web-socket';
export { RecordedRequest } from './mock-engine/recorded-request';
export { EngineCounters } from './mock-engine/engine-counters';
export {
  type EngineState,
  type MemoryTag,
  type PauseMode,
  type ReportedLoad,
} from './mock-engine/engine-state';
export { MockTcpEngine, type TcpScript } from './mock-engine/mock-tcp-engine';
export { MockIdp, type MockIdpMode } from './mock-idp/mock-idp';
export { MockIdpKey, type MockIdpAlgorithm } from './mock-idp/mock-idp-key';
export {
  fakeWorker,
  fakeWorkers,
  type FakeWorker,
  type FakeWorkerOptions,
} from './fakes/fake-worker';
export { FakeDirectory } from './fakes/fake-directory';
export { FakeEvents } from './fakes/fake-events';
export { FakeCaller, type FakeAnswer } from './fakes/fake-caller';
export { FakeClock } from './fakes/fake-clock';
export { FakeMetrics } from './fakes/fake-metrics';
export { fakeContext, type FakeContextOptions } from './fakes/fake-context';
export { fakeExchange, FakeHead, type FakeExchangeOptions } from './fakes/fake-exchange';
export { arbitraries, type Arbitraries } from './arbitraries';
export { sampleSelections, type SampleSelection } from './contracts/sample-selections';
export { describeCandidateFilter } from './contracts/candidate-filter.contract';
export { describeRoutingPolicy, policyParameters } from './contracts/routing-policy.contract';
export { describeEngineAdapter, type RecordedAnswers } from './contracts/engine-adapter.contract';
export { describeResponseInterceptor } from './contracts/response-interceptor.contract';
