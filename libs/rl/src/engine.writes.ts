import { Injectable } from '@nestjs/common';
import { type WorkerView } from '@smg/plugin-api';
import { type ControlState } from './core/engine-state';
import { rlErrors } from './core/rl-error';
import { VersionTable } from './core/version-table';
import { validateVersion } from './core/version-validator';
import { type WeightVersion } from './core/weight-version';
import { RlSetControlDto } from './dto/rl-set-control.dto';
import { RlSetVersionDto } from './dto/rl-set-version.dto';
import { readRlBody } from './rl-body';
import { type RlRequest } from './rl.http';

/** The write routes' half that is about the body and the table. */
@Injectable()
export class EngineWrites {
  constructor(private readonly table: VersionTable) {}

  /** @throws RlError `invalid_body` or `invalid_version` */
  readVersion(request: RlRequest): WeightVersion {
    const { weight_version: text } = readRlBody(request, RlSetVersionDto, 'weight_version');
    const checked = validateVersion(text);
    if (!checked.ok) throw rlErrors.invalidVersion(checked.message);
    return checked.version;
  }

  /** @throws RlError `invalid_body` */
  readControl(request: RlRequest): ControlState {
    return readRlBody(request, RlSetControlDto, 'control').control;
  }

  setVersion({ baseUrl, modelId }: WorkerView, version: WeightVersion): void {
    this.table.setVersion(baseUrl, modelId, version, 'api');
  }

  setControl({ baseUrl, modelId }: WorkerView, control: ControlState): void {
    this.table.setControl(baseUrl, modelId, control);
  }
}
