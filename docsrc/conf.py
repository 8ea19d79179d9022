"""Sphinx configuration. The page on the fixes is made from the series: a new fix is on it by being there."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "py"))

from torch_tensorrt_fixes import __version__, series  # noqa: E402

project = "torch-tensorrt-fixes"
copyright = "2026, the torch-tensorrt-fixes authors"
release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "alabaster"
html_theme_options = {"description": "Fixes for the dynamo path of Torch-TensorRT", "page_width": "1100px"}
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"


def write_fixes() -> None:
    lines = ["The fixes", "=========", ""]
    for fix in series.all_fixes():
        heading = f"{fix.label}: {fix.title}"
        lines += [f".. _{fix.slug}:", "", heading, "-" * len(heading), "", "::", ""]
        lines += [f"   {line}".rstrip() for line in fix.story.splitlines()]
        lines += [""]
        facts = {"Symptom": fix.symptom, "Affects": fix.affects, "Risk": fix.risk}
        lines += [f":{name}: {value}" for name, value in facts.items() if value]
        lines += [f":Commit: {commit.subject}" for commit in fix.commits]
        lines += [""]
    (HERE / "fixes.rst").write_text("\n".join(lines))


write_fixes()
