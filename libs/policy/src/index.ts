export { PolicyModule } from './policy.module';
export { POLICY_OPTIONS, type PolicyOptions } from './policy-options';
export { CandidateFilterChain } from './candidate-filter.chain';
export { PolicyRegistry } from './policy.registry';
export { WorkerSelector } from './worker.selector';
export { isAllFiltered, type AllFiltered } from './core/all-filtered';
export { LabelFilter } from './core/label-filter';
export { DEFAULT_POLICY_PARAMETERS, NO_LOADS } from './core/default-parameters';
export { chooseRank, estimateTokens, RankBalancer, type SentTokens } from './core/rank-choice';
