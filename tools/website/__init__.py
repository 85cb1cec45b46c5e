"""The documentation site; ``python -m website`` collects its pages and runs Sphinx (``make docs``)."""
