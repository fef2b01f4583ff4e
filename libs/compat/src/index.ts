export { CompatModule } from './compat.module';
export { type CompatOptions } from './compat.options';
export { ROUTER_VERBS, type RouterVerb } from './core/router-verbs';
