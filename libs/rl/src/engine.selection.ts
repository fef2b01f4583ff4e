import { Inject, Injectable } from '@nestjs/common';
import { WORKER_DIRECTORY, type WorkerDirectory, type WorkerView } from '@smg/plugin-api';
import { collapseRanks, type EngineGroup } from './core/discovery-row';
import { selectorParameter } from './core/forward-query';
import { rlErrors } from './core/rl-error';
import { matchSelector, parseSelector, type Selector } from './core/selector';
import { selectorKeys } from './core/selector-keys';
import { VersionTable } from './core/version-table';
import { trimWhitespace } from './core/whitespace';

/** A selector that was understood. */
export interface GivenSelector {
  /** Trimmed text. */
  readonly text: string;
  readonly terms: Selector;
}

/** Finds the engines a request speaks of: by id, or by selector. */
@Injectable()
export class EngineSelection {
  constructor(
    @Inject(WORKER_DIRECTORY) private readonly directory: WorkerDirectory,
    private readonly table: VersionTable,
  ) {}

  /** @throws RlError `worker_not_found` */
  byId(id: string): WorkerView {
    const worker = this.directory.byId(id);
    if (worker === undefined) throw rlErrors.workerNotFound(id);
    return worker;
  }

  /** Every engine, ranks collapsed, in the order of the wire. */
  all(): readonly EngineGroup[] {
    return collapseRanks(this.directory.all());
  }

  /**
   * Reads the `selector` of a raw query.
   * @throws RlError `selector_required` or `invalid_selector`
   */
  read(query: string): GivenSelector {
    const given = selectorParameter(query);
    if (given.kind === 'repeated') throw rlErrors.invalidSelector(0, 'given more than once');
    if (given.kind === 'undecodable') {
      throw rlErrors.invalidSelector(0, 'not valid percent-encoded UTF-8');
    }
    const text = given.kind === 'absent' ? '' : trimWhitespace(given.text);
    if (text === '') throw rlErrors.selectorRequired();
    const parsed = parseSelector(text);
    if (!parsed.ok) throw rlErrors.invalidSelector(parsed.offset, parsed.why);
    return { text, terms: parsed.selector };
  }

  /** Engines whose lowest rank matches, healthy or not. @throws RlError `no_workers_match` */
  matching({ text, terms }: GivenSelector): readonly EngineGroup[] {
    const found = this.all().filter(({ worker }) =>
      matchSelector(terms, selectorKeys(worker, this.table.get(worker.baseUrl))),
    );
    if (found.length === 0) throw rlErrors.noWorkersMatch(text);
    return found;
  }
}
