import { Inject, Injectable } from '@nestjs/common';
import {
  METRICS,
  type CounterCell,
  type GaugeCell,
  type MetricFamily,
  type Metrics,
} from '@smg/plugin-api';
import { type HandshakeFailure } from '@smg/proxy';

/** What the main port counts itself. */
@Injectable()
export class ListenerMetrics {
  private readonly failures: MetricFamily<CounterCell>;
  private readonly expiry: MetricFamily<GaugeCell>;

  constructor(@Inject(METRICS) metrics: Metrics) {
    this.failures = metrics.counter({
      name: 'smg_tls_handshake_failures_total',
      help: 'TLS handshakes on the main port that came to nothing',
      labels: ['reason'],
    });
    this.expiry = metrics.gauge({
      name: 'smg_tls_certificate_expiry_timestamp_seconds',
      help: 'End of validity of the certificate of the main port, seconds since the epoch',
    });
  }

  handshakeFailed(reason: HandshakeFailure): void {
    this.failures.cell(reason).inc();
  }

  /** @param notAfter milliseconds since the epoch. */
  certificateExpires(notAfter: number): void {
    this.expiry.cell().set(Math.floor(notAfter / 1000));
  }
}
