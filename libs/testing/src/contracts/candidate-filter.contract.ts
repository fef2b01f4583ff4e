import { strict as assert } from 'node:assert';
import { type CandidateFilter } from '@smg/plugin-api';
import { fakeContext } from '../fakes/fake-context';
import { isThenable, runner } from './runner';
import { sampleSelections, type SampleSelection } from './sample-selections';

/**
 * Declares a suite that holds a filter to the contract of {@link CandidateFilter}.
 *
 * @param make called once per test.
 * @param more selections in which this filter drops somebody; without them only its quiet side is seen.
 */
export function describeCandidateFilter(
  name: string,
  make: () => CandidateFilter,
  more: () => readonly SampleSelection[] = () => [],
): void {
  const { describe, it } = runner();
  describe(`${name} keeps the contract of a candidate filter`, () => {
    it('has a name and a whole-number order', () => {
      const filter = make();
      assert.match(filter.name, /^[a-z0-9][a-z0-9-]*$/, 'name: lower case, digits and dashes');
      assert.ok(Number.isInteger(filter.order), 'order must be a whole number');
    });

    for (const { title, candidates, context } of [...sampleSelections(), ...more()]) {
      it(`${title}: a subset in order, the same array when nobody is dropped`, () => {
        const filter = make();
        const before = [...candidates];
        const kept = filter.filter(candidates, context);
        assert.ok(!isThenable(kept), 'filter must be synchronous');
        assert.deepEqual(
          candidates.map(({ url }) => url),
          before.map(({ url }) => url),
          'the array it got must not change',
        );
        if (kept.length === candidates.length) {
          assert.ok(kept === candidates, 'nobody was dropped, so the same array must come back');
        }
        let at = -1;
        for (const worker of kept) {
          const next = candidates.indexOf(worker, at + 1);
          assert.ok(next > at, `${worker.url} was added, repeated or moved`);
          at = next;
        }
      });

      it(`${title}: asked again, it answers the same`, () => {
        const filter = make();
        const first = filter.filter(candidates, context).map(({ url }) => url);
        const second = filter.filter(candidates, context).map(({ url }) => url);
        assert.deepEqual(second, first);
      });

      it(`${title}: explains in one line or not at all`, () => {
        const why = make().explain?.(candidates, context);
        if (why === undefined) return;
        assert.equal(typeof why, 'string');
        assert.ok(why !== '' && !why.includes('\n'), 'a phrase on one line');
      });
    }

    it('lets nobody in when nobody is offered', () => {
      assert.equal(make().filter(Object.freeze([]), fakeContext()).length, 0);
    });
  });
}
