-- Words are cut between characters, and ignore what is not seen within them: the worker makes the
-- blocks again.
truncate word_heads, word_blocks, word_lists;
