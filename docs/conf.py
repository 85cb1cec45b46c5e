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
    "website.edit_links",
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
html_logo = os.path.join(html_static_path[0], "logo.svg")
html_favicon = html_logo
html_search_scorer = os.path.join(html_static_path[0], "scorer.js")
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. "  # a copy of an example has its code alone
copybutton_prompt_is_regexp = True
html_show_search_summary = False  # it fetches pages, which one opened from a file may not
html_show_sourcelink = False
html_sidebars = {"overview": []}
html_context = {
    "default_mode": "auto",
    "edit_page_url_template": "https://github.com/arraytape/arraytape/edit/main/{{ source_file_name }}",
    "edit_page_provider_name": "GitHub",
}
html_theme_options = {
    "logo": {"text": f"arraytape {release}"},
    "github_url": "https://github.com/arraytape/arraytape",
    "use_edit_page_button": True,
    "collapse_navigation": True,
    "navigation_depth": 4,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["version"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "secondary_sidebar_items": ["page-toc", "edit-this-page"],
    "show_prev_next": True,
}
