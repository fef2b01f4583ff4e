import { BodyPipe } from './body.pipe';
import { WorkerPatchDto } from './worker-patch.dto';
import { WorkerSpecDto } from './worker-spec.dto';

describe('a body with names that mean something to JavaScript', () => {
  const text = '{"url":"http://h","labels":{"constructor":"a","__proto__":"b","toString":"c"}}';

  it.each([WorkerSpecDto, WorkerPatchDto])('keeps them as labels (%p)', (shape) => {
    const { labels } = new BodyPipe<{ labels: object }>(shape).transform(JSON.parse(text));
    expect(Object.entries(labels)).toEqual([
      ['constructor', 'a'],
      ['__proto__', 'b'],
      ['toString', 'c'],
    ]);
  });

  it('refuses them deep inside with a reason, not with a fault of ours', () => {
    const body = { url: 'http://h', models: [{ id: 'm', metadata: { constructor: 1 } }] };
    expect(() => new BodyPipe(WorkerSpecDto).transform(body)).toThrow(
      expect.objectContaining({ status: 422, message: expect.stringContaining('`constructor`') }),
    );
  });

  it('drops them where no such member exists', () => {
    const body = JSON.parse('{"url":"http://h","constructor":1,"__proto__":{"priority":9}}');
    expect(new BodyPipe(WorkerSpecDto).transform(body)).toEqual({ url: 'http://h' });
  });
});
