/** Something that this process needs does not answer now, and may later. The message may be shown to any caller. */
export class UnavailableError extends Error {}
