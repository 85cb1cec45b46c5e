"""The five words in which an op is stated, and the code that they generate."""
