"""The sentences of the notes' advice, each as a test of the points of a sweep.

First note: section 10, four rules. Second note: sections 12 to 14. A chain is short to middle below
16 instructions and large from there on (the notes measured 7, 8 and 29); a small odd tail is one of
a short to middle chain above 4 whose length isn't a multiple of 4.
"""

from probelab.codegen.cases import (
    as_good_as_best,
    at,
    at_least,
    behind_best,
    between,
    by_shape,
    each_once,
    enough,
    faster,
    most,
    most_of_many,
    no_constant,
    not_monotone,
    odd_tail,
    ready,
    reduction_costs,
    some,
    tail_position,
)
from probelab.codegen.heuristics import MIDDLE_BELOW
from probelab.codegen.verdicts import Statement
from probelab.config.sweeps import LONGEST

SPLITTABLE = between(2, LONGEST)
MIDDLE = between(2, MIDDLE_BELOW - 1)
LARGE = between(MIDDLE_BELOW, LONGEST)
FEW = some((2, 3))
ONE, TWO, THREE, FOUR, SEVEN = (some((number,)) for number in (1, 2, 3, 4, 7))

STATEMENTS: tuple[Statement, ...] = (
    Statement(
        key="avoid_long_chains",
        source="first note, 10",
        sentence="Avoid long dependency chains.",
        test="the best split takes fewer cycles than the single chain",
        cases=faster(at_least(2), ONE, SPLITTABLE),
    ),
    Statement(
        key="enough_accumulators",
        source="first note, 10",
        sentence="Expose enough independent accumulator lanes.",
        test="the best number is above one, and on the way to it no further accumulator costs",
        cases=enough,
    ),
    Statement(
        key="ready_in_sight",
        source="first note, 10",
        sentence="Let the scheduler always see ready instructions.",
        test=(
            "of two variants, the one that leaves fewer issue slots empty takes fewer "
            "cycles, in at least 90 % of the pairs"
        ),
        cases=ready,
    ),
    Statement(
        key="balance",
        source="first note, 10",
        sentence="Balance ILP exposure against register pressure.",
        test="the most accumulators that were run are behind the best number",
        cases=behind_best(most, SPLITTABLE),
    ),
    Statement(
        key="seven_two",
        source="second note, 12",
        sentence="At chain 7, two accumulators beat the dependent chain.",
        test="two take fewer cycles than one",
        cases=faster(TWO, ONE, at(7)),
    ),
    Statement(
        key="seven_three",
        source="second note, 14",
        sentence="At chain 7, three accumulators beat the dependent chain.",
        test="three take fewer cycles than one",
        cases=faster(THREE, ONE, at(7)),
    ),
    Statement(
        key="seven_four",
        source="second note, 12",
        sentence="At chain 7, four accumulators lose to the dependent chain.",
        test="one takes fewer cycles than four",
        cases=faster(ONE, FOUR, at(7)),
    ),
    Statement(
        key="seven_seven",
        source="second note, 12",
        sentence="At chain 7, seven accumulators lose to the dependent chain.",
        test="one takes fewer cycles than seven",
        cases=faster(ONE, SEVEN, at(7)),
    ),
    Statement(
        key="seven_right",
        source="second note, 12",
        sentence="The right ILP for chain 7 is two to three accumulators.",
        test="nothing beats the better of two and three",
        cases=as_good_as_best(FEW, at(7)),
    ),
    Statement(
        key="seven_tail",
        source="second note, 14",
        sentence="At chain 7, moving the short tail makes a further difference.",
        test="four accumulators, the first or the last of them short, differ",
        cases=tail_position(7),
    ),
    Statement(
        key="reduction_cost",
        source="second note, 12",
        sentence=(
            "Reduction and live accumulators eat up the gain of four accumulators in short chains."
        ),
        test="four gain less over one with a reduction in each iteration than without",
        across=reduction_costs,
    ),
    Statement(
        key="more_is_better_wrong",
        source="second note, 13",
        sentence="Wrong rule: the more accumulators the better.",
        test="some number takes more cycles than a smaller one",
        cases=not_monotone,
    ),
    Statement(
        key="too_many_for_length",
        source="second note, 13",
        sentence="Too many accumulators for the chain's length lose.",
        test="one accumulator per instruction is behind the best number",
        cases=behind_best(each_once, between(3, LONGEST)),
    ),
    Statement(
        key="short_gains",
        source="second note, 13",
        sentence="Short to middle chain: two to three accumulators can gain.",
        test="the better of two and three takes fewer cycles than one",
        cases=faster(FEW, ONE, MIDDLE),
    ),
    Statement(
        key="short_best",
        source="second note, 13",
        sentence="Short to middle chain: two to three accumulators are the choice.",
        test="nothing beats the better of two and three",
        cases=as_good_as_best(FEW, MIDDLE),
    ),
    Statement(
        key="odd_tail",
        source="second note, 13",
        sentence="Small odd tail: a four-way split can lose.",
        test="the better of two and three takes fewer cycles than four",
        cases=faster(FEW, FOUR, odd_tail),
    ),
    Statement(
        key="odd_tail_one",
        source="second note, 13",
        sentence="Small odd tail: a four-way split falls behind the single chain.",
        test="one takes fewer cycles than four",
        cases=faster(ONE, FOUR, odd_tail),
    ),
    Statement(
        key="large_four",
        source="second note, 13",
        sentence="Large chain: a split into four or more can gain.",
        test="the best of four and more takes fewer cycles than the best of one to three",
        cases=faster(at_least(4), some((1, 2, 3)), LARGE),
    ),
    Statement(
        key="too_many",
        source="second note, 13",
        sentence="Too many accumulators lose: live range, sink, register pressure.",
        test="the most accumulators that were run, five or more, are behind the best number",
        cases=behind_best(most_of_many, SPLITTABLE),
    ),
    Statement(
        key="twenty_nine",
        source="second note, 13",
        sentence="At chain 29 four accumulators are far ahead.",
        test="four take fewer cycles than one",
        cases=faster(FOUR, ONE, at(29)),
    ),
    Statement(
        key="no_constant",
        source="second note, 13",
        sentence="The best number isn't a constant but depends on the chain's length.",
        test=(
            "whatever one number is taken (never more than the length), it loses over 0.1 % "
            "somewhere"
        ),
        cases=no_constant,
    ),
    Statement(
        key="depends_on_shape",
        source="second note, 13",
        sentence="The best number depends on the instruction's shape.",
        test="no number is best for every op and reduction of that length",
        across=by_shape,
    ),
)
