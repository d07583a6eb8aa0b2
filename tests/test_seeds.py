"""Seeds without state."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from classgrow.seeds import generator, seed_for, seeded


def test_a_place_has_one_seed_on_every_machine() -> None:
    """blake2b of "1/phase/2", eight bytes, without the lowest bit."""
    assert seed_for(1, "phase", 2) == 2093698422780896760
    assert seed_for(1) == 8898586205396736955


@given(st.integers(0, 2**63 - 1), st.lists(st.one_of(st.integers(), st.text("aé/1")), max_size=4))
def test_seeds_fit_into_63_bits(seed: int, place: list[int | str]) -> None:
    assert 0 <= seed_for(seed, *place) < 2**63


def test_every_place_draws_its_own_numbers() -> None:
    places = [(seed, "phase", phase, "epoch", epoch) for seed in (1, 2) for phase in range(5) for epoch in range(20)]
    assert len({seed_for(*place) for place in places}) == len(places)
    first, again, other = (torch.rand(4, generator=generator(1, "epoch", epoch)) for epoch in (3, 3, 4))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_the_global_generator_is_put_back() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with seeded(1, "network"):
        inside = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    with seeded(1, "network"):
        assert torch.equal(torch.rand(3), inside)
