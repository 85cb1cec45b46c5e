"""What writes each page of ``tools/pages.py``, and each part of a page."""
