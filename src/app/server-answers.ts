/** What commands ask of a running server. */
export type { ApiAnswer } from '../http/api/api-routes.ts';
