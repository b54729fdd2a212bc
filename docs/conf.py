"""The site's configuration: `make site` builds it, with warnings as errors.

The pages are the Markdown files of this folder; the reference is generated from the public names, the gallery from
`tutorials/`, and pages of figures from `benchmarks/results/` (`site_pages.py`).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import site_pages  # noqa: E402

import lapwing  # noqa: E402

project, author = "Lapwing", "Lapwing developers"
project_copyright = "Lapwing developers"
release = version = lapwing.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["tutorials", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the gallery's own configuration holds functions

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_mock_imports = ["jax"]
autodoc_typehints = "none"  # the sections "Parameters" say more
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "default_thumb_file": str(HERE / "images" / "demo.png"),
}

html_theme = "pydata_sphinx_theme"
html_title = "Lapwing"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {"text": "Lapwing"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}

# Pages may link to what is beside the documents in the repository; here these are names only.
OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+(?:examples|benchmarks|src|cpp|tests|README|CONTRIBUTING|ARCHITECTURE)[^)]*\)"
)


def setup(app: Any) -> None:
    """Write the generated pages before Sphinx looks for pages."""
    site_pages.write(HERE)

    def without_outside(_app: Any, _name: str, content: list[str]) -> None:
        content[0] = OUTSIDE.sub(r"\1", content[0])

    app.connect("source-read", without_outside)
