"""What are we looking at? Texts, their tokens, and batches of them."""
