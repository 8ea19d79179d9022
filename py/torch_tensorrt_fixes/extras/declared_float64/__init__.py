"""Say float32 where truncate_double makes an engine compute float32.

With truncate_double an engine takes and returns float32 for what is
float64 in the program, and casts around it, inserted into the graph,
convert. The engine's record and the metadata of its node went on to say
float64, and the casts had no metadata at all.

torch_tensorrt.save(retrace=False) raised "Node.meta _to_copy_default is
missing val field". A retrace that takes dtypes from the record, as the
C++ runtime's does, saw a cast of float64 to float64, a copy, where the
engine gives float32, so that nothing vouched for the dtype that the
saved program declares.

With the setting, the record now says float32 for each float64 input and
output, and so does the metadata of the engine's node and of the items
that are taken from it; the inserted casts have the metadata of what
they give. Shapes, strides and symbolic sizes stay as they were.

Left alone: without truncate_double nothing changes. An engine without a
float64 input returns float32 for float64 with no cast behind it; that
its outputs are float32 is now what the metadata says.
"""

from __future__ import annotations

from ...commit import Commit, Fix, Kind
from ...edits import AddDefinition, AddImport, AddItem, Donor, Insert, Rewrite

CONVERSION = "py/torch_tensorrt/dynamo/conversion"
CAPTURE = f"{CONVERSION}/_symbolic_shape_capture.py"
INTERPRET = f"{CONVERSION}/_conversion.py"
TRUNCATE = f"{CONVERSION}/truncate_double.py"
COMPILER = "py/torch_tensorrt/dynamo/_compiler.py"

EXTRACT = "extract_symbolic_shape_expressions"

capture = Donor(__package__, "symbolic_shape_capture")
truncate = Donor(__package__, "truncate_double")

_record = (
    AddDefinition(CAPTURE, capture["_engine_dtype"], before=EXTRACT),
    AddItem(CAPTURE, within=EXTRACT, item="truncate_double: bool = False"),
    *(
        Rewrite(
            CAPTURE,
            within=EXTRACT,
            find=f"{val}.dtype",
            put=f"_engine_dtype({val}.dtype, truncate_double)",
        )
        for val in ("input_val", "out_val")
    ),
    Rewrite(
        INTERPRET,
        within="interpret_module_to_result",
        find=f"{EXTRACT}(module)",
        put=f"""
            {EXTRACT}(
                module, truncate_double=settings.truncate_double
            )
        """,
    ),
)

_nodes = (
    AddDefinition(TRUNCATE, truncate["truncated_metadata"], before="_extract_downstream_get_nodes"),
    AddDefinition(TRUNCATE, truncate["declare_truncated_outputs"], after="repair_double_inputs"),
    AddDefinition(TRUNCATE, truncate["_declare_casts"], before="_repair_64bit_input"),
    Insert(
        TRUNCATE,
        within="_repair_64bit_input",
        before="gm.graph.eliminate_dead_code()",
        text="""
            _declare_casts(gm, module_node)

        """,
    ),
    Insert(
        COMPILER,
        within="compile_module",
        before="submodule_inputs = repair_double_inputs($$$ARGS)",
        text="declare_truncated_outputs(submodule_node_dict[name])",
    ),
    AddImport(
        COMPILER,
        ("from torch_tensorrt.dynamo.conversion.truncate_double import declare_truncated_outputs",),
    ),
)

FIX = Fix(
    kind=Kind.EXTRA,
    slug="declared-float64",
    doc=__doc__,
    symptom='loud: save(retrace=False) raises "missing val field"; silent: an engine\'s record says float64',
    risk="with truncate_double only: what reads the metadata of an engine's float64 outputs finds float32",
    commits=(
        Commit(
            subject="fix(dynamo): declare float32 where truncate_double computes it",
            edits=(*_record, *_nodes),
            tests=("tests/py/dynamo/conversion/test_declared_float64.py",),
        ),
    ),
)
