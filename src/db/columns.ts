/** A text of JSON. */
export type Json = string;
/** Milliseconds since 1970. */
export type Time = number;
/** Milliseconds since 1970 by the clock of the database. */
export type ServerTime = number;
