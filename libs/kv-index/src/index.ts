export { PrefixTree, type EvictionLimits, type PrefixMatch } from './core/prefix-tree';
export { countCharacters } from './core/utf8';
