export { PrefixTree, type PrefixMatch } from './core/prefix-tree';
export { TokenTree, type TokenMatch } from './core/token-tree';
export { type EvictionLimits } from './core/eviction-limits';
export { type BoundaryHash, HashIndex, type HashIndexOptions } from './core/hash-index';
export { HashRing, ringPositionOf } from './core/hash-ring';
export { type Hash64, hexOf, moduloOf } from './core/hash64';
export { createHashes, type Hashes } from './core/hashes';
export { tokenBytes, type Tokens } from './core/tokens';
export { byteLengthOfCharacters, countCharacters } from './core/utf8';
