import { type IHasher } from 'hash-wasm';
import { type Hash64 } from './hash64';

/**
 * The hash functions that routing shares with other gateways of a fleet: with others, the same key
 * would go to another worker there. Synchronous; the state lives in one WebAssembly memory per
 * function, so an instance must not be called from within itself, which plain calls cannot do.
 */
export interface Hashes {
  /** xxh3-64 with seed 0. */
  xxh3(data: Uint8Array | string): Hash64;
  /** The same as sixteen lower-case hex digits. */
  xxh3Hex(data: Uint8Array | string): string;
  /** The first 8 bytes of BLAKE3, read as a little-endian number. */
  blake3Prefix64(data: Uint8Array | string): Hash64;
}

/** BLAKE3 is an extendable-output function: a digest of 64 bits is the start of the usual 256. */
const PREFIX_BITS = 64;

/**
 * Compiles the functions; once, at boot. Strings are hashed as UTF-8.
 * @throws an error that names the reason when this process cannot run WebAssembly.
 */
export async function createHashes(): Promise<Hashes> {
  if (!('WebAssembly' in globalThis)) {
    throw new Error(
      'this routing policy needs WebAssembly for xxh3 and BLAKE3, and Node runs without it: start it without --jitless',
    );
  }
  try {
    // On demand: most policies hash nothing, and loading it costs 3 ms and 1.4 MiB.
    const { createBLAKE3, createXXHash3 } = await import('hash-wasm');
    return new WasmHashes(await createXXHash3(0, 0), await createBLAKE3(PREFIX_BITS));
  } catch (cause) {
    throw new Error('xxh3 and BLAKE3 could not be compiled as WebAssembly', { cause });
  }
}

class WasmHashes implements Hashes {
  constructor(
    private readonly xxhash3: IHasher,
    private readonly blake3: IHasher,
  ) {}

  xxh3(data: Uint8Array | string): Hash64 {
    const bytes = this.xxhash3.init().update(data).digest('binary');
    return { high: bigEndian(bytes, 0), low: bigEndian(bytes, 4) };
  }

  xxh3Hex(data: Uint8Array | string): string {
    return this.xxhash3.init().update(data).digest('hex');
  }

  blake3Prefix64(data: Uint8Array | string): Hash64 {
    const bytes = this.blake3.init().update(data).digest('binary');
    return { high: littleEndian(bytes, 4), low: littleEndian(bytes, 0) };
  }
}

// Shifts, not a DataView: one would be allocated per digest.

function bigEndian(b: Uint8Array, at: number): number {
  return (
    (((b[at] ?? 0) << 24) |
      ((b[at + 1] ?? 0) << 16) |
      ((b[at + 2] ?? 0) << 8) |
      (b[at + 3] ?? 0)) >>>
    0
  );
}

function littleEndian(b: Uint8Array, at: number): number {
  return (
    (((b[at + 3] ?? 0) << 24) |
      ((b[at + 2] ?? 0) << 16) |
      ((b[at + 1] ?? 0) << 8) |
      (b[at] ?? 0)) >>>
    0
  );
}
