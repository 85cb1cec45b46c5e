"""The site: ``python -m website`` gathers its pages and has Sphinx build them (``make docs``)."""
