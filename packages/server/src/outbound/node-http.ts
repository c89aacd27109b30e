/** An import would read all exports, one of which loads fetch and WebSocket: 26 ms and 12 MiB. */
export const http = process.getBuiltinModule('node:http');
