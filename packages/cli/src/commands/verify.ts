import { statSync } from 'node:fs';
import { isUuid, type Plan, parseVerifierKey, plans } from '@indelible/protocol';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type ConnectionOptions,
  connect,
  type Environment,
  withConnection,
  withOperator,
} from '../connection.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import { jsonLine, visible } from '../text.ts';
import { sha } from '../verify/hashing.ts';
import { showProgress } from '../verify/progress.ts';
import type { Report } from '../verify/report.ts';
import { reportText } from '../verify/report-text.ts';
import { SeenCheckpoints, stateFolder } from '../verify/seen-checkpoints.ts';
import { verifyTenant } from '../verify/verify-tenant.ts';
