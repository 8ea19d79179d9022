"""Conditionals and loops: what is run, how often, and what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import Net

from torch_tensorrt_fixes.reference import EvaluationError, Evaluator
from torch_tensorrt_fixes.reference._trt import trt

SUM, PROD, SUB = (getattr(trt.ElementWiseOperation, name) for name in ("SUM", "PROD", "SUB"))
ROW = np.array([1, 2, 3], np.int32)


def combine(net: Net, left: Any, right: Any, operation: Any = SUM) -> Any:
    return net.network.add_elementwise(left, right, operation).get_output(0)


def refusing(net: Net, tensor: Any) -> Any:
    """Of the rank of `tensor` and refused whenever it is run: a slice that reaches over the end."""
    return net.network.add_slice(tensor, (2,), (3,), (1,)).get_output(0)


class TestConditional:
    @pytest.mark.parametrize("condition", [True, False])
    def test_only_the_branch_taken_is_run(self, condition: bool) -> None:
        net = Net()
        conditional = net.network.add_if_conditional()
        conditional.set_condition(net.input(condition))
        inside = conditional.add_input(net.input(ROW)).get_output(0)
        doubled, refused = combine(net, inside, inside), refusing(net, inside)
        branches = (doubled, refused) if condition else (refused, doubled)
        values = [net.run(conditional.add_output(*branches).get_output(0))]
        np.testing.assert_array_equal(values[0], 2 * ROW)
        net.inputs["input0"] = np.array(not condition)
        with pytest.raises(EvaluationError, match="SLICE layer.*out of bounds"):
            Evaluator(net.network).run(net.inputs)

    def test_a_branch_is_lazy_without_boundary_inputs_too(self) -> None:
        net = Net()
        conditional = net.network.add_if_conditional()
        conditional.set_condition(net.input(True))
        row = net.input(ROW)
        output = conditional.add_output(combine(net, row, row), refusing(net, row))
        np.testing.assert_array_equal(net.run(output.get_output(0)), 2 * ROW)

    def test_what_both_branches_or_others_use_is_run_once_and_before(self) -> None:
        net = Net()
        conditional = net.network.add_if_conditional()
        conditional.set_condition(net.input(True))
        row = net.input(ROW)
        shared = combine(net, row, row)
        output = conditional.add_output(combine(net, shared, row), combine(net, shared, row, PROD)).get_output(0)
        first, second = net.run(output, shared)
        np.testing.assert_array_equal(first, 3 * ROW)
        np.testing.assert_array_equal(second, 2 * ROW)

    def test_a_conditional_may_have_many_outputs_that_depend_on_each_others_inputs(self) -> None:
        net = Net()
        conditional = net.network.add_if_conditional()
        conditional.set_condition(net.input(False))
        row = net.input(ROW)
        low, high = combine(net, row, row), combine(net, row, row, PROD)
        first = conditional.add_output(refusing(net, row), low).get_output(0)
        second = conditional.add_output(row, combine(net, low, high)).get_output(0)
        results = net.run(first, second)
        np.testing.assert_array_equal(results[0], 2 * ROW)
        np.testing.assert_array_equal(results[1], 2 * ROW + ROW * ROW)

    @pytest.mark.parametrize("outer", [True, False])
    @pytest.mark.parametrize("inner", [True, False])
    def test_conditionals_nest(self, outer: bool, inner: bool) -> None:
        net = Net()
        outside, inside = net.network.add_if_conditional(), net.network.add_if_conditional()
        outside.set_condition(net.input(outer))
        row, flag = net.input(ROW), net.input(inner)
        inside.set_condition(flag)
        chosen = inside.add_output(combine(net, row, row), combine(net, row, row, PROD)).get_output(0)
        if not outer:
            chosen = combine(net, chosen, refusing(net, chosen))
        result = net.run(outside.add_output(chosen, combine(net, row, row, SUB)).get_output(0))
        np.testing.assert_array_equal(result, (2 * ROW if inner else ROW * ROW) if outer else 0 * ROW)

    def test_an_assertion_belongs_to_the_branch_of_what_it_asserts(self) -> None:
        for taken in (True, False):
            net = Net()
            conditional = net.network.add_if_conditional()
            conditional.set_condition(net.input(taken))
            row = net.input(ROW)
            doubled = combine(net, row, row)
            net.network.add_assertion(
                net.network.add_cast(combine(net, doubled, doubled, SUB), trt.bool).get_output(0), "no"
            )
            output = conditional.add_output(doubled, combine(net, row, row, PROD)).get_output(0)
            if taken:
                with pytest.raises(EvaluationError, match="ASSERTION"):
                    net.run(output)
            else:
                np.testing.assert_array_equal(net.run(output), ROW * ROW)

    def test_one_without_a_condition_is_refused(self) -> None:
        net = Net()
        row = net.input(ROW)
        output = net.network.add_if_conditional().add_output(row, row)
        with pytest.raises(EvaluationError, match=r"CONDITIONAL_OUTPUT layer.*call set_condition\(\)"):
            net.run(output.get_output(0))

    def test_a_condition_must_be_one_bool(self) -> None:
        net = Net()
        conditional = net.network.add_if_conditional()
        conditional.set_condition(net.input([True, False]))
        row = net.input(ROW)
        with pytest.raises(EvaluationError, match=r"CONDITION layer.*needs one bool, not 'input0' bool \(2,\)"):
            net.run(conditional.add_output(row, combine(net, row, row)).get_output(0))


def counted_loop(net: Net, count: int) -> Any:
    loop = net.network.add_loop()
    loop.add_trip_limit(net.input(np.array(count, np.int32)), trt.TripLimit.COUNT)
    return loop


class TestLoop:
    @given(count=st.integers(0, 5))
    @settings(max_examples=6, deadline=None)
    def test_a_recurrence_runs_count_times(self, count: int) -> None:
        net = Net()
        loop = counted_loop(net, count)
        power = loop.add_recurrence(net.input(ROW))
        power.set_input(1, combine(net, power.get_output(0), net.input(2 * ROW), PROD))
        output = loop.add_loop_output(power.get_output(0), trt.LoopOutput.LAST_VALUE)
        np.testing.assert_array_equal(net.run(output.get_output(0)), ROW * (2 * ROW) ** count)

    def test_recurrences_step_together(self) -> None:
        net = Net()
        loop = counted_loop(net, 7)
        first, second = (loop.add_recurrence(net.input(np.array([start], np.int32))) for start in (0, 1))
        first.set_input(1, second.get_output(0))
        second.set_input(1, combine(net, first.get_output(0), second.get_output(0)))
        output = loop.add_loop_output(first.get_output(0), trt.LoopOutput.LAST_VALUE)
        assert net.run(output.get_output(0)).tolist() == [13]  # the seventh Fibonacci number

    @pytest.mark.parametrize("axis", [0, 1])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_an_iterator_hands_out_slices_and_outputs_join_them(self, axis: int, reverse: bool) -> None:
        grid = np.arange(12, dtype=np.float32).reshape(3, 4)
        turns = 2
        net = Net()
        loop = counted_loop(net, turns)
        part = loop.add_iterator(net.input(grid), axis, reverse).get_output(0)
        length = net.input(np.array(turns, np.int32))
        joined = []
        for kind, place in ((trt.LoopOutput.CONCATENATE, 0), (trt.LoopOutput.REVERSE, 1)):
            output = loop.add_loop_output(combine(net, part, part), kind, place)
            output.set_input(1, length)
            joined.append(output.get_output(0))
        slices = np.moveaxis(grid, axis, 0)[:turns]
        slices = slices[::-1] if reverse else slices
        forward, backward = net.run(*joined)
        np.testing.assert_array_equal(forward, 2 * slices)
        np.testing.assert_array_equal(backward, 2 * slices[::-1].T)

    def test_the_last_turn_prepares_no_other(self) -> None:
        net = Net()
        loop = counted_loop(net, len(ROW))
        row, one = net.input(ROW), net.input(np.array(1, np.int32))
        place = loop.add_recurrence(one)
        value = loop.add_recurrence(net.input(ROW[0]))
        value.set_input(1, net.network.add_gather(row, place.get_output(0), 0).get_output(0))  # beyond the end at last
        place.set_input(1, combine(net, place.get_output(0), one))
        every = loop.add_loop_output(value.get_output(0), trt.LoopOutput.CONCATENATE)
        every.set_input(1, net.input(np.array(len(ROW), np.int32)))
        np.testing.assert_array_equal(net.run(every.get_output(0)), ROW)
        last = loop.add_loop_output(value.get_output(0), trt.LoopOutput.LAST_VALUE)
        with pytest.raises(EvaluationError, match="GATHER layer.*out of bounds"):
            net.run(last.get_output(0))

    @pytest.mark.parametrize(("limit", "expected"), [(10, [4, 8, 16]), (100, [4, 8, 16, 32, 64, 128])])
    def test_a_while_loop_stops_before_the_turn_it_refuses(self, limit: int, expected: list[int]) -> None:
        net = Net()
        loop = net.network.add_loop()
        value = loop.add_recurrence(net.input(np.array(2, np.int32)))
        current = value.get_output(0)
        under = net.network.add_elementwise(
            current, net.input(np.array(limit, np.int32)), trt.ElementWiseOperation.LESS
        )
        loop.add_trip_limit(under.get_output(0), trt.TripLimit.WHILE)
        doubled = combine(net, current, current)
        value.set_input(1, doubled)
        last = loop.add_loop_output(current, trt.LoopOutput.LAST_VALUE)
        every = loop.add_loop_output(doubled, trt.LoopOutput.CONCATENATE)
        every.set_input(1, net.input(np.array(len(expected) + 1, np.int32)))
        first, second = net.run(last.get_output(0), every.get_output(0))
        assert first == expected[-1]
        assert second.tolist() == [*expected, 0]

    def test_the_body_is_not_run_in_the_turn_that_is_refused(self) -> None:
        net = Net()
        loop = net.network.add_loop()
        loop.add_trip_limit(net.input(False), trt.TripLimit.WHILE)
        value = loop.add_recurrence(net.input(ROW))
        value.set_input(1, refusing(net, value.get_output(0)))
        output = loop.add_loop_output(value.get_output(0), trt.LoopOutput.LAST_VALUE)
        np.testing.assert_array_equal(net.run(output.get_output(0)), ROW)

    def test_count_and_condition_together(self) -> None:
        for flag, expected in ((True, 3), (False, 0)):
            net = Net()
            loop = counted_loop(net, 3)
            loop.add_trip_limit(net.input(flag), trt.TripLimit.WHILE)
            value = loop.add_recurrence(net.input(np.array(0, np.int32)))
            value.set_input(1, combine(net, value.get_output(0), net.input(np.array(1, np.int32))))
            output = loop.add_loop_output(value.get_output(0), trt.LoopOutput.LAST_VALUE)
            assert net.run(output.get_output(0)) == expected

    def test_loops_and_conditionals_nest(self) -> None:
        """For each row: add it up to three times, but only where its flag says so."""
        rows = np.arange(6, dtype=np.int32).reshape(3, 2)
        flags = np.array([True, False, True])
        net = Net()
        outer = counted_loop(net, 3)
        row = outer.add_iterator(net.input(rows), 0, False).get_output(0)
        flag = outer.add_iterator(net.input(flags), 0, False).get_output(0)
        inner = net.network.add_loop()
        inner.add_trip_limit(net.input(np.array(3, np.int32)), trt.TripLimit.COUNT)
        total = inner.add_recurrence(combine(net, row, row, SUB))
        total.set_input(1, combine(net, total.get_output(0), row))
        thrice = inner.add_loop_output(total.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
        conditional = net.network.add_if_conditional()
        conditional.set_condition(flag)
        chosen = conditional.add_output(thrice, row).get_output(0)
        every = outer.add_loop_output(chosen, trt.LoopOutput.CONCATENATE)
        every.set_input(1, net.input(np.array(3, np.int32)))
        np.testing.assert_array_equal(net.run(every.get_output(0)), np.where(flags[:, None], 3 * rows, rows))

    def test_no_turn_leaves_nothing_to_join(self) -> None:
        net = Net()
        loop = counted_loop(net, 0)
        part = loop.add_iterator(net.input(np.ones((3, 2), np.float32)), 0, False).get_output(0)
        output = loop.add_loop_output(combine(net, part, part), trt.LoopOutput.CONCATENATE, 0)
        output.set_input(1, net.input(np.array(0, np.int32)))
        assert net.run(output.get_output(0)).shape == (0, 2)

    def test_a_loop_value_used_outside_is_refused(self) -> None:
        net = Net()
        loop = counted_loop(net, 2)
        value = loop.add_recurrence(net.input(ROW))
        doubled = combine(net, value.get_output(0), value.get_output(0))
        value.set_input(1, doubled)
        output = loop.add_loop_output(value.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
        with pytest.raises(EvaluationError, match=r"changes with every turn of a loop.*add_loop_output\(\)"):
            net.run(output, combine(net, doubled, output))

    def test_a_loop_without_limit_is_refused(self) -> None:
        net = Net()
        loop = net.network.add_loop()
        value = loop.add_recurrence(net.input(ROW))
        value.set_input(1, value.get_output(0))
        output = loop.add_loop_output(value.get_output(0), trt.LoopOutput.LAST_VALUE)
        with pytest.raises(EvaluationError, match=r"has no end: add_trip_limit\(\) is missing"):
            net.run(output.get_output(0))

    def test_a_recurrence_without_next_value_is_refused(self) -> None:
        net = Net()
        loop = counted_loop(net, 1)
        value = loop.add_recurrence(net.input(ROW)).get_output(0)
        output = loop.add_loop_output(value, trt.LoopOutput.LAST_VALUE)
        with pytest.raises(EvaluationError, match=r"RECURRENCE layer.*no value for the next turn: set_input\(1"):
            net.run(output.get_output(0))

    @pytest.mark.parametrize(
        ("turns", "length", "reverse", "message"),
        [
            (4, 4, False, "ITERATOR layer.*out of range: turn 4 of the loop, but only 3 slices"),
            (4, 4, True, "ITERATOR layer.*runs backwards over 3 slices, but the loop's count is 4"),
            (3, 2, False, "LOOP_OUTPUT layer.*has room for 2 turns, but the loop took 3"),
            (-1, 2, False, "TRIP_LIMIT layer.*needs one count, not 'input0' int32 -1"),
            (2, None, False, r"LOOP_OUTPUT layer.*without a length: set_input\(1"),
        ],
    )
    def test_counts_that_do_not_fit_are_refused(
        self, turns: int, length: int | None, reverse: bool, message: str
    ) -> None:
        net = Net()
        loop = counted_loop(net, turns)
        part = loop.add_iterator(net.input(np.ones((3, 2), np.float32)), 0, reverse).get_output(0)
        output = loop.add_loop_output(combine(net, part, part), trt.LoopOutput.CONCATENATE, 0)
        if length is not None:
            output.set_input(1, net.input(np.array(length, np.int32)))
        with pytest.raises(EvaluationError, match=message):
            net.run(output.get_output(0))

    def test_a_loop_value_is_no_output_of_a_loop_without_outputs(self) -> None:
        net = Net()
        value = counted_loop(net, 2).add_recurrence(net.input(ROW))
        value.set_input(1, combine(net, value.get_output(0), value.get_output(0)))
        with pytest.raises(EvaluationError, match=r"changes with every turn of a loop.*add_loop_output\(\)"):
            net.run(value.get_output(0))
