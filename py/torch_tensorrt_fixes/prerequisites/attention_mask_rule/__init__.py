"""Keep the ranges behind an attention mask out of constant folding.

Constant folding makes one constant of an attention mask that is made of
aranges, queries times keys in size: 4 MB for a causal mask of 1,024
tokens. The registry of rules that exclude nodes from constant folding had
no rule in it.

The rule attention_mask_arange keeps the integer aranges behind a mask,
and thereby all that depends on them. It finds them from the mask argument
of the attention operators, and, since a decomposed attention is gone when
the rules are applied, while it is being decomposed. As with every rule,
disabled_constant_fold_exclusions={"attention_mask_arange"} makes them
foldable again.

A range with a way to the mask that goes through float64, or another dtype
that TensorRT does not compute in, still folds, as do ranges of floats.
Left alone: is_causal=True, and marks that a later retrace of the graph
loses (fix mask-fold-marks).
"""

from ...commit import Commit, Fix, Kind
from ...edits import AddImport, AddItem, Donor, Has, Insert, NewFile

LOWERING = "py/torch_tensorrt/dynamo/lowering"
EXCLUSIONS = f"{LOWERING}/constant_fold_exclusions"
DECOMPOSITIONS = f"{LOWERING}/_decompositions.py"
RULE = f"{EXCLUSIONS}/attention_mask.py"
donor = Donor(__package__, "attention_mask")

FIX = Fix(
    kind=Kind.PREREQUISITE,
    slug="attention-mask-rule",
    doc=__doc__,
    symptom="engines grow with the square of the sequence length; no wrong result",
    risk="low: a mask is computed when the engine runs; disabled_constant_fold_exclusions turns it off",
    commits=(
        Commit(
            subject="feat(dynamo): keep attention mask ranges out of constant folding",
            edits=(
                NewFile(RULE, lambda: donor.text),
                AddImport(f"{EXCLUSIONS}/__init__.py", ("from .attention_mask import ATTENTION_MASK_ARANGE_RULE_ID",)),
                AddItem(
                    f"{EXCLUSIONS}/__init__.py",
                    within="__all__",
                    item='"ATTENTION_MASK_ARANGE_RULE_ID"',
                    before='"CONSTANT_FOLD_EXCLUSION_META_KEY"',
                ),
                AddImport(
                    DECOMPOSITIONS,
                    (
                        "from .constant_fold_exclusions.attention_mask import"
                        " exclude_attn_mask_aranges_from_constant_fold",
                    ),
                ),
                Insert(
                    DECOMPOSITIONS,
                    within="scaled_dot_product_attention_decomposition",
                    before="attn_mask.dtype == torch.bool",
                    text="exclude_attn_mask_aranges_from_constant_fold(attn_mask)",
                ),
            ),
            tests=("tests/py/dynamo/lowering/test_attention_mask_rule.py",),
            present=(Has(RULE),),
        ),
    ),
)
