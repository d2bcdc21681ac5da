import { errorCode } from './error-code.ts';

/** By codes of Node.js and undici. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name cannot be resolved now',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'no way leads to that host',
  ENETUNREACH: 'no way leads to that host',
  UND_ERR_SOCKET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'no answer in time',
  EPROTO: 'it does not answer https',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not answer https',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted; name it in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted; name it in NODE_EXTRA_CA_CERTS',
  CERT_HAS_EXPIRED: 'its certificate has expired',
};

/** Why a connection failed, without the address that the system's message has; other errors by their message. */
export function plainReason(error: unknown): string {
  const known = REASONS[errorCode(error) ?? ''];
  if (known !== undefined) return known;
  return error instanceof Error ? error.message || error.name : String(error);
}
