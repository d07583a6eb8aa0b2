"""Where a process stands among others."""

from __future__ import annotations

import pytest

from classgrow.engine.group import Group, join, reporting_lost_processes
from classgrow.engine.place import TIMEOUT, Place, here, timeout_seconds
from classgrow.errors import ClassgrowError, LostProcessError


def test_as_torchrun_tells() -> None:
    place = Place(3, 8, 1, 2)
    assert here(place.as_environment("10.0.0.1", 29500)) == place
    assert here({}) == Place()
    assert here({"RANK": "1", "WORLD_SIZE": "2"}) == Place()  # nobody to meet
    assert here(Place(0, 1).as_environment("10.0.0.1", 29500)) == Place()
    with pytest.raises(ClassgrowError, match="whole numbers"):
        here({**place.as_environment("10.0.0.1", 29500), "RANK": "first"})


def test_the_timeout() -> None:
    assert timeout_seconds({}) == 600 and timeout_seconds({TIMEOUT: "30"}) == 30
    for text in ("soon", "0", "-3", "inf", "nan"):
        with pytest.raises(ClassgrowError, match="number of seconds"):
            timeout_seconds({TIMEOUT: text})


def test_alone_nothing_is_told() -> None:
    group = Group()
    assert group.is_first and group.decided(lambda: 3) == 3 and group.prepared(lambda: 4) == 4
    assert group.same({}, 5) == ({}, 5, False)


def test_a_run_meant_for_several_is_not_done_by_one() -> None:
    with pytest.raises(ClassgrowError, match="`processes` = 2"):
        join(2)


def test_only_errors_of_the_network_mean_a_lost_process() -> None:
    with pytest.raises(LostProcessError, match="`resume`"), reporting_lost_processes(2):
        raise RuntimeError("[gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1234")
    with pytest.raises(RuntimeError, match="shapes") as found, reporting_lost_processes(2):
        raise RuntimeError("shapes do not fit")
    assert not isinstance(found.value, ClassgrowError)
    with pytest.raises(RuntimeError, match="Connection") as found, reporting_lost_processes(1):
        raise RuntimeError("Connection closed by peer")
    assert not isinstance(found.value, ClassgrowError)
