/**
 * What was read is not of the format it claims. The message is a sentence
 * for people that names the part; the only error that the parsers of
 * notes, proofs, tiles and body lines throw, whatever the input.
 */
export class FormatError extends RangeError {
  override name = 'FormatError';
}
