"""Sphinx's settings.  ``make docs`` gathers the pages and builds: see tools/website."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

from arraytape import __version__

project = "arraytape"
author = "The arraytape developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "website.docstrings",
    "website.formulas",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
nitpicky = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Nothing is fetched, when the pages are built or when they are read.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "arraytape"
templates_path = ["_templates"]
html_static_path = [os.path.join(os.path.dirname(__file__), "_static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which one opened from a file may not
html_show_sourcelink = False
html_sidebars = {"overview": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "collapse_navigation": True,
    "navigation_depth": 4,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}
