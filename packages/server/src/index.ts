export { type Environment, readConfig } from './config.ts';
export { migrateDatabase, type Service, startService } from './main.ts';
