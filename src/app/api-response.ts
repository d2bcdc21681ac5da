/** What commands ask of a running server. */
export type { ApiResponse } from '../http/api/api-routes.ts';
