/**
 * What is known of where a login comes from, best first. `known`: this account has been logged in to from there before.
 * `calm`: nothing has failed there lately, and nobody there came back before the time. `restless`: all others.
 */
export const STANDINGS = ['known', 'calm', 'restless'] as const;
export type Standing = (typeof STANDINGS)[number];
