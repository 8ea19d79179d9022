"""The kinds of edit: structural changes to Python files, on ast-grep.

An edit names the definition that it works in and how many places it must find there; whatever it does not touch stays
as it is, byte for byte. It knows nothing of git, of imports or of torch.
"""

from .apply import Applied, apply
from .base import Edit
from .definition import AddDefinition
from .donor import Definition, Donor
from .imports import AddImport
from .insert import Insert
from .item import AddItem
from .misfit import Misfit, Nearest
from .new_file import NewFile
from .probe import Every, Has, Lacks, Probe
from .remove import Remove
from .rewrite import Rewrite
from .source import Source, Splice

__all__ = [
    "AddDefinition",
    "AddImport",
    "AddItem",
    "Applied",
    "Definition",
    "Donor",
    "Edit",
    "Every",
    "Has",
    "Insert",
    "Lacks",
    "Misfit",
    "Nearest",
    "NewFile",
    "Probe",
    "Remove",
    "Rewrite",
    "Source",
    "Splice",
    "apply",
]
