export { changesSql } from '../changes/feeds/changes-sql.ts';
