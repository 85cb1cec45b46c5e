"""What every room uses and what knows nothing of arrays: messages, nestings, attached methods."""
