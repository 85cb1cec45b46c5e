"""The functions that write the pages, and the parts of pages, in the table of ``tools/pages.py``."""
