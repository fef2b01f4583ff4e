/** Wire types of `/workers`, snake_case as sent. Absent members are omitted, never `null`. */

export const WORKER_TYPES = ['regular', 'prefill', 'decode', 'encode'] as const;
export type WorkerType = (typeof WORKER_TYPES)[number];

export const CONNECTION_MODES = ['http', 'grpc', 'zmq'] as const;
export type ConnectionMode = (typeof CONNECTION_MODES)[number];

export const WORKER_STATUSES = ['pending', 'ready', 'not_ready', 'failed', 'draining'] as const;
/** Life of a worker; only `ready` is routable. */
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

export interface ModelCardWire {
  readonly id: string;
  readonly display_name?: string;
  readonly aliases?: readonly string[];
  readonly model_type?: readonly string[];
  readonly hf_model_type?: string;
  readonly architectures?: readonly string[];
  readonly provider?: string;
  readonly context_length?: number;
  readonly tokenizer_path?: string;
  readonly chat_template?: string;
  readonly reasoning_parser?: string;
  readonly tool_parser?: string;
  readonly metadata?: unknown;
  readonly id2label?: unknown;
  readonly num_labels?: number;
}

export interface HealthConfigWire {
  readonly timeout_secs?: number;
  readonly check_interval_secs?: number;
  readonly success_threshold?: number;
  readonly failure_threshold?: number;
  readonly disable_health_check?: boolean;
  readonly drain_settle_secs?: number;
}

export interface HttpPoolWire {
  readonly pool_max_idle_per_host?: number;
  readonly pool_idle_timeout_secs?: number;
  readonly timeout_secs?: number;
  readonly connect_timeout_secs?: number;
}

export interface ResilienceWire {
  readonly max_retries?: number;
  readonly initial_backoff_ms?: number;
  readonly max_backoff_ms?: number;
  readonly backoff_multiplier?: number;
  readonly jitter_factor?: number;
  readonly disable_retry?: boolean;
  readonly cb_failure_threshold?: number;
  readonly cb_success_threshold?: number;
  readonly cb_timeout_secs?: number;
  readonly cb_window_secs?: number;
  readonly disable_circuit_breaker?: boolean;
  readonly retryable_status_codes?: readonly number[];
  readonly capacity_status_codes?: readonly number[];
}

export interface OverloadWire {
  readonly waiting_requests?: number;
  readonly token_usage?: number;
}

/** What an operator says of a worker; body of POST and PUT `/workers`. */
export interface WorkerSpecWire {
  readonly url: string;
  readonly models?: readonly ModelCardWire[];
  readonly worker_type?: WorkerType;
  readonly connection_mode?: ConnectionMode;
  readonly runtime_type?: string;
  readonly provider?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly cost?: number;
  /** Never part of an answer or a log. */
  readonly api_key?: string;
  readonly bootstrap_port?: number;
  readonly dp_base_url?: string;
  readonly dp_rank?: number;
  readonly dp_size?: number;
  readonly kv_connector?: string;
  readonly kv_role?: string;
  readonly kv_engine_id?: string;
  readonly kv_block_size?: number;
  readonly health?: HealthConfigWire;
  readonly http_pool?: HttpPoolWire;
  readonly resilience?: ResilienceWire;
  readonly max_connection_attempts?: number;
  readonly load_monitor_interval_secs?: number;
  readonly overload?: OverloadWire;
}

export interface JobStatusWire {
  readonly job_type: string;
  readonly worker_url: string;
  readonly status: 'pending' | 'processing' | 'failed';
  readonly message?: string;
  /** Unix seconds. */
  readonly timestamp: number;
}

/** One entry of GET `/workers`. */
export interface WorkerInfoWire extends Omit<WorkerSpecWire, 'api_key'> {
  /** UUIDv7. */
  readonly id: string;
  /** Absent for a wildcard worker. */
  readonly model_id?: string;
  readonly is_healthy: boolean;
  readonly status: WorkerStatus;
  /** Requests in flight. */
  readonly load: number;
  readonly job_status?: JobStatusWire;
}
