"""The functions that write the generated pages; the table in ``tools/pages.py`` names them."""
