/**
 * The text is not of the stated format. The message names the wrong part. Parsers of notes, proofs,
 * tiles and body lines throw only this error, whatever the input.
 */
export class FormatError extends RangeError {
  override name = 'FormatError';
}
