export { RlModule } from './rl.module';
export { RL_OPTIONS, type RlOptions } from './rl.options';
export { capabilitiesOf, type RlCapabilities } from './core/capabilities';
export {
  collapseRanks,
  engineRow,
  ranksOf,
  workersAnswer,
  type EngineGroup,
  type RlWorkerRow,
  type RlWorkersAnswer,
  type RowSources,
} from './core/discovery-row';
export {
  describeDrops,
  DROP_REASONS,
  Eligibility,
  type DropReason,
  type Eligible,
} from './core/eligibility';
export { EligibilityFilter, type DropCounter } from './core/eligibility-filter';
export {
  engineTarget,
  parseEnginePath,
  parseRawEnginePath,
  type ParsedEnginePath,
} from './core/engine-path';
export {
  CONTROL_STATES,
  VERSION_SOURCES,
  type ControlState,
  type EngineState,
  type VersionSource,
} from './core/engine-state';
export {
  fanOut,
  renderFanout,
  type CallResult,
  type FanoutFailure,
  type FanoutReport,
  type FanoutTarget,
} from './core/fanout';
export { forwardQuery, selectorParameter, type SelectorParameter } from './core/forward-query';
export { isMixed, mayBeMixed, type MixedQuestion } from './core/mixed-version';
export {
  isAgreement,
  observeCall,
  type CalledEngine,
  type ObservedCall,
  type RefusedVersion,
} from './core/observe';
export { operationLabel } from './core/operation-label';
export { bodyAsJson, MAX_OUTCOME_BYTES, renderOutcome, type CallOutcome } from './core/outcome';
export { PolicyHeader, type PolicyHeaderFault } from './core/policy-header';
export {
  RL_ERROR_STATUS,
  RlError,
  rlErrors,
  timeoutText,
  unreachableText,
  unsupportedText,
  type RlErrorCode,
} from './core/rl-error';
export {
  matchSelector,
  parseSelector,
  printSelector,
  type ParsedSelector,
  type Selector,
  type SelectorLookup,
  type SelectorTerm,
} from './core/selector';
export { selectorKeys } from './core/selector-keys';
export {
  ANY_VERSION,
  parseVersionPolicy,
  printVersionPolicy,
  type ParsedPolicy,
  type VersionPolicy,
} from './core/version-policy';
export {
  VersionTable,
  type Closing,
  type ControlChange,
  type VersionChange,
  type VersionTableListener,
} from './core/version-table';
export {
  validateVersion,
  versionOfLabel,
  type ValidatedVersion,
  type VersionFault,
  type VersionRefusal,
} from './core/version-validator';
export {
  compareVersions,
  equalVersions,
  laterVersion,
  parseVersion,
  type MixedComparison,
  type WeightVersion,
} from './core/weight-version';
