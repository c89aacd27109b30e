import { environment } from '../../server/src/postgres/embedded/account.ts';

/*
 * Under `faketime` the PostgreSQL that this process starts has its clock: the minimal environment
 * gets what faketime has set. Not its shared memory, which PostgreSQL's account may not read.
 */
for (const name of ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC']) {
  const value = process.env[name];
  if (value !== undefined) environment[name] = value;
}
