/** Each of these modules adds a language to `cronstrue`. */
declare module 'cronstrue/locales/*';
