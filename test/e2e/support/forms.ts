export const BOUNDARY = '----test-7d91';

/** One part of a form. */
export interface Part {
  readonly name: string;
  readonly value: string | Buffer;
  readonly filename?: string;
  readonly type?: string;
}

/** A multipart body, exactly as written here. */
export function formOf(parts: readonly Part[], boundary = BOUNDARY): Buffer {
  const chunks: Buffer[] = [];
  for (const { name, value, filename, type } of parts) {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`;
    chunks.push(
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${typed}\r\n`,
      ),
      Buffer.from(value),
      Buffer.from('\r\n'),
    );
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return Buffer.concat(chunks);
}

export const formHeaders = (boundary = BOUNDARY): Record<string, string> => ({
  'content-type': `multipart/form-data; boundary=${boundary}`,
});

/** Bytes that look like boundaries and are none. */
export const AUDIO = Buffer.concat([
  Buffer.from(`RIFF\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\0\xff`, 'latin1'),
  Buffer.alloc(4096, 0x0d),
]);

export const audioForm = (...more: readonly Part[]): Part[] => [
  { name: 'file', value: AUDIO, filename: 'tape %221%22.wav', type: 'audio/wav' },
  { name: 'model', value: 'mock-model' },
  ...more,
];
