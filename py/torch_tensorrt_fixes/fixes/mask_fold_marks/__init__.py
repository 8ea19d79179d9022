"""Keep attention masks unfolded through a retrace.

A mask that is made of aranges costs a few small layers to compute and
queries times keys to store: 4 MB for a causal mask of 1,024 tokens. The
rule attention_mask_arange keeps such aranges out of constant folding, but
its marks are metadata under a key of its own, which a retrace drops:
where a graph has complex numbers (rotary embeddings), or
run_decompositions() runs once more, there is then neither a mark nor an
attention operator to find the mask by, and the mask folds.

Marked aranges and what lies between them and the mask now also get a tag
in node.meta["custom"], which run_decompositions(), module(), copies and
the complex decomposition hand on, and the rule selects tagged aranges.
Disabling the rule makes them foldable again. What else reads them, such
as the table of a rotary embedding made of the same positions, reads a
copy that folds: otherwise its complex numbers would cut the graph.

The other constants of that size go, too. is_causal=True makes its mask
of marked aranges; it came from ones().tril(), without a mark. The zeros
that a mask is filled into or added to while attention is decomposed are
one zero. Of a constant that is one value everywhere, as the ones or -inf
that tril() and triu() take, folding keeps one element where all that
reads it broadcasts it against what is excluded from folding. The engine
of a decomposed attention under a causal mask, however it is written, is
0.28 MB at 1,024 tokens; it was 4.48 MB.

Left alone: masks that are stored in the model; masks whose ranges go
through float64 or are of floats, which fold as the rule says.
"""

from ...commit import Commit, Fix
from ...edits import AddImport, Donor, Insert, NewFile, Rewrite

LOWERING = "py/torch_tensorrt/dynamo/lowering"
RULE = f"{LOWERING}/constant_fold_exclusions/attention_mask.py"
DECOMPOSITIONS = f"{LOWERING}/_decompositions.py"
TAGS = f"{LOWERING}/constant_fold_exclusions/attention_mask_tags.py"
MODULE = "torch_tensorrt.dynamo.lowering.constant_fold_exclusions.attention_mask_tags"
MARKING = f"{LOWERING}/passes/mark_constant_fold_exclusions.py"
FOLDING = f"{LOWERING}/passes/constant_folding.py"
PASSES = "torch_tensorrt.dynamo.lowering.passes"
DECOMPOSITION = "scaled_dot_product_attention_decomposition"
tags = Donor(__package__, "attention_mask_tags")
shrinking = Donor(__package__, "shrink_uniform_constants")

FIX = Fix(
    number=7,
    slug="mask-fold-marks",
    doc=__doc__,
    symptom="engines grow with the square of the sequence length, 4 MB at 1,024 tokens; no wrong result",
    risk="low: a causal mask is computed when the engine runs; disabled_constant_fold_exclusions folds it again",
    commits=(
        Commit(
            subject="fix(dynamo): keep attention masks unfolded through a retrace",
            edits=(
                NewFile(TAGS, lambda: tags.text),
                AddImport(
                    RULE, tuple(f"from {MODULE} import {name}" for name in ("is_tagged_arange", "tag_attention_mask"))
                ),
                Rewrite(
                    RULE,
                    find="_find_attention_mask_aranges($MASK)",
                    put="tag_attention_mask(_find_attention_mask_aranges($MASK), $MASK)",
                    count=2,
                ),
                Insert(
                    RULE,
                    within="_attention_mask_arange_rule",
                    at="start",
                    text="""
                    if is_tagged_arange(node):
                        return (node,)
                    """,
                ),
                AddImport(MARKING, (f"from {MODULE} import separate_attention_masks",)),
                Insert(
                    MARKING,
                    within="mark_constant_fold_exclusions",
                    before="if disabled_rule_ids:\n    $$$BODY",
                    text="separate_attention_masks(gm)\n\n",
                ),
                Rewrite(
                    DECOMPOSITIONS,
                    within=DECOMPOSITION,
                    find="attn_bias = torch.zeros((L, S), $$$ARGS)",
                    put="attn_bias = torch.zeros((1, 1), $$$ARGS)",
                ),
                Rewrite(
                    DECOMPOSITIONS,
                    within=DECOMPOSITION,
                    find="temp_mask = torch.ones((L, S), $$$ARGS).tril(diagonal=0)",
                    put="""
                    positions = torch.arange(L, device=device).unsqueeze(-1)
                    temp_mask = positions >= torch.arange(S, device=device)
                    exclude_attn_mask_aranges_from_constant_fold(temp_mask)
                    """,
                    done="temp_mask = positions >= torch.arange(S, device=device)",
                ),
                NewFile(f"{LOWERING}/passes/shrink_uniform_constants.py", lambda: shrinking.text),
                AddImport(FOLDING, (f"from {PASSES}.shrink_uniform_constants import shrink_uniform_constants",)),
                Insert(
                    FOLDING,
                    within="constant_fold",
                    after="cf.run()",
                    text="shrink_uniform_constants(gm, cf.node_replacements)",
                ),
            ),
            tests=("tests/py/dynamo/lowering/test_mask_fold_marks.py",),
            needs=("arange-fill", "attention-mask-rule"),
        ),
    ),
)
