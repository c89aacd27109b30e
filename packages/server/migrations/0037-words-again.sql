-- Blocks now have marks of values beside the words, and bits for frequent words: the worker makes them again.
truncate word_heads, word_blocks, word_lists;
