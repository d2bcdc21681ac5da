/** The response of a running server to commands. */
export type { ApiResponse } from '../http/api/api-routes.ts';
