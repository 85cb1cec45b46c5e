"""Forks beside threads: a short run, and every lock of the package is free in a child."""

import functools
import importlib
import os
import pkgutil
import threading

import pytest

import arraytape
from arraytape._util import locks
from attack import forks

KINDS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event)
KINDS += (threading.Semaphore, threading.Barrier, functools.cached_property)
has_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no os.fork")


def modules():
    """All modules of the package that can be imported here."""
    for found in pkgutil.walk_packages(arraytape.__path__, "arraytape."):
        try:
            yield importlib.import_module(found.name)
        except ImportError:  # a storage whose library is not installed
            continue


def held_by(module):
    """The locks in a module's names and in the classes that it defines, by name."""
    classes = [one for one in vars(module).values() if isinstance(one, type)]
    places = [module, *[one for one in classes if one.__module__ == module.__name__]]
    return {
        f"{module.__name__}.{name}": value
        for place in places
        for name, value in vars(place).items()
        if isinstance(value, KINDS)
    }


def test_every_lock_of_the_package_is_renewed_in_a_forked_child():
    found = {name: lock for module in modules() for name, lock in held_by(module).items()}
    assert len(found) >= 5
    renewed = {id(lock) for lock in locks.LOCKS}
    assert {name for name, lock in found.items() if id(lock) not in renewed} == set()


def test_no_module_makes_a_lock_of_its_own():
    for module in modules():
        if module is not locks:
            names = {"Lock", "RLock", "Condition", "Event", "threading", "cached_property"}
            taken = names.intersection(vars(module))
            assert not taken, f"{module.__name__} has {taken}: locks come from _util.locks"


@has_fork
@pytest.mark.parametrize("make", [locks.reentrant_lock])
def test_a_lock_that_another_thread_holds_is_free_in_a_forked_child(make, tmp_path):
    lock, held, done = make(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(forks.PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(forks.PATIENCE)
    with open(tmp_path / "said", "w+") as said:
        status = forks.ended(forks.fork(lambda: lock.acquire(), said))
    done.set()
    thread.join()
    assert status == 0


@has_fork
@pytest.mark.slow
def test_children_of_a_process_with_busy_threads_end():
    assert forks.run(0) == forks.FORKS


@has_fork
def test_a_child_that_hangs_is_a_finding(monkeypatch):
    monkeypatch.setattr(forks, "PATIENCE", 0.2)
    monkeypatch.setattr(
        forks, "WORKS", [lambda rng: forks.time.sleep(30 if os.getpid() != me else 0)]
    )
    me = os.getpid()
    with pytest.raises(AssertionError, match=r"seed 3, fork 0(.|\n)*forks.run\(3\)"):
        forks.run(3)
