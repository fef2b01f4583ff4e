/** Connections one worker may hold: two per stream, with room. */
const WORKER_CONNECTIONS = 16_384;

/** A plain reverse proxy with one worker, everything kept inside `directory`. */
export function nginxConfig(
  directory: string,
  port: number,
  backendPort: number,
  asRoot: boolean,
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `  ${kind}_temp_path ${directory}/${kind};`)
    .join('\n');
  // As root the worker would switch to another user, who cannot enter the private directory.
  return `${asRoot ? 'user root;\n' : ''}worker_processes 1;
daemon off;
pid ${directory}/nginx.pid;
error_log stderr warn;
events { worker_connections ${WORKER_CONNECTIONS}; }
http {
${temporary}
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_buffer_size 64k;
  tcp_nodelay on;
  upstream engines {
    server 127.0.0.1:${backendPort};
    keepalive 512;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://engines;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}
