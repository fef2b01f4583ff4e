import fc from 'fast-check';
import { FinalEvent } from './final-event';
import { type RecordedAnswer, ResponseRecording } from './response-recording';

const RESPONSE = '{"id":"resp_1","status":"completed","n":12345678901234567890,"text":"é\\n"}';
const NAMED = `event: response.created\ndata: {"type":"response.created"}\n\nevent: response.completed\ndata: {"response":${RESPONSE},"type":"response.completed"}\n\n`;
const UNNAMED = `data: {"type":"response.output_text.delta","delta":"x"}\n\ndata: {"type": "response.completed","response":${RESPONSE}}\n\n`;
const TYPE_LAST = `data: {"response":${RESPONSE},"sequence_number":3,"type":"response.completed"}\r\n\r\ndata: [DONE]\r\n\r\n`;

function record(isStream: boolean, chunks: readonly Buffer[], maxBytes = 10_000): RecordedAnswer[] {
  const kept: RecordedAnswer[] = [];
  const recording = new ResponseRecording(maxBytes, (answer) => kept.push(answer));
  recording.begin(isStream);
  for (const chunk of chunks) recording.see(chunk);
  recording.complete();
  return kept;
}

/** Cuts bytes at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set([...places.map((it) => it % bytes.length), bytes.length])];
  ends.sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe('recording a stream', () => {
  it.each([
    ['named events', NAMED],
    ['events without a name', UNNAMED],
    ['a type that comes last, and CRLF', TYPE_LAST],
    ['no blank line at the end', NAMED.trimEnd()],
    ['comments between', `: ping\n\n${NAMED}: ping\n\n`],
  ])('%s: keeps the response of the last event, however it is cut', (_name, text) => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { maxLength: 12 }), (places) => {
        const [kept] = record(true, cut(Buffer.from(text), places));
        expect(kept).toEqual({ id: 'resp_1', status: 'completed', body: RESPONSE });
      }),
    );
  });

  it.each([
    ['nothing final', 'event: response.created\ndata: {"response":{"id":"resp_1"}}\n\n'],
    [
      'another event with that text inside',
      `event: response.output_text.delta\ndata: {"type":"response.completed","response":${RESPONSE}}\n\n`,
    ],
    ['no JSON', 'event: response.completed\ndata: {"response":{"id":"resp_1"\n\n'],
    ['no response in it', 'event: response.completed\ndata: {"id":"resp_1"}\n\n'],
    ['nothing', ''],
  ])('%s: keeps nothing', (_name, text) => {
    expect(record(true, [Buffer.from(text)])).toEqual([]);
  });

  it('keeps the answer of a client that leaves after the last event, once', () => {
    const kept: RecordedAnswer[] = [];
    const recording = new ResponseRecording(1000, (answer) => kept.push(answer));
    recording.begin(true);
    const most = NAMED.slice(0, -2);
    recording.see(Buffer.from(most));
    expect(kept).toEqual([]);
    recording.see(Buffer.from('\n\n'));
    expect(kept).toHaveLength(1);
    recording.see(Buffer.from(NAMED));
    recording.complete();
    expect(kept).toHaveLength(1);
  });

  it('holds no line that is too long, and goes on after it', () => {
    const long = `event: response.completed\ndata: {"response":{"id":"resp_0","x":"${'x'.repeat(500)}"}}\n\n`;
    expect(record(true, [Buffer.from(long)], 300)).toEqual([]);
    const both = record(true, cut(Buffer.from(long + NAMED), [100, 200, 300]), 300);
    expect(both.map(({ id }) => id)).toEqual(['resp_1']);
  });

  it('holds one line, not the stream', () => {
    const watch = new FinalEvent(100);
    for (let i = 0; i < 1000; i += 1) watch.see(Buffer.from('data: {"delta":"x"}\n\n'));
    expect((Reflect.get(watch, 'line') as unknown[]).length).toBe(0);
    watch.end();
    expect(watch.data).toBeUndefined();
  });
});

describe('recording a whole answer', () => {
  it('keeps its text, in one piece or many', () => {
    const bytes = Buffer.from(RESPONSE);
    for (const chunks of [[bytes], cut(bytes, [5, 70, 71])]) {
      expect(record(false, chunks)).toEqual([
        { id: 'resp_1', status: 'completed', body: RESPONSE },
      ]);
    }
  });

  it.each(['completed', 'failed', 'incomplete', 'cancelled'])('keeps one that is %s', (status) => {
    expect(record(false, [Buffer.from(JSON.stringify({ id: 'r', status }))])).toHaveLength(1);
  });

  it('keeps one that says nothing of a state', () => {
    expect(record(false, [Buffer.from('{"id":"r"}')])).toHaveLength(1);
  });

  it.each([
    '{"id":"r","status":"queued"}',
    '{"id":"r","status":"in_progress"}',
    '{"id":7}',
    '[]',
    '',
    '{',
  ])('%s is not kept', (text) => {
    expect(record(false, [Buffer.from(text)])).toEqual([]);
  });

  it('keeps none that is too large', () => {
    expect(record(false, [Buffer.from(RESPONSE)], RESPONSE.length - 10)).toEqual([]);
  });

  it('keeps none that does not come to its end', () => {
    const kept: RecordedAnswer[] = [];
    const recording = new ResponseRecording(1000, (answer) => kept.push(answer));
    recording.begin(false);
    recording.see(Buffer.from(RESPONSE));
    expect(kept).toEqual([]);
  });
});
