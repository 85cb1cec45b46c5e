"""The recorder stack in asyncio's tasks: each has its own."""

import asyncio

import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning
from arraytape._record.stack import recorders


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_interleaved_tasks_have_tapes_of_their_own():
    x = xp.asarray(2.0)

    async def work(n):
        with GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(n):
                await asyncio.sleep(0)
                y = y * x
                assert recorders() == (tape._recording,)
        count = len(tape._recording.records)
        return count, float(tape.gradient(y, x))

    async def main():
        return await asyncio.gather(*(work(n) for n in range(6)))

    assert asyncio.run(main()) == [(n, (n + 1) * 2.0**n) for n in range(6)]


def test_a_task_does_not_record_what_another_one_computes(x, near):
    async def recording(watched, computed, found):
        with GradientTape() as tape:
            tape.watch(x)
            watched.set()
            await computed.wait()
            z = x + found[0]
        return tape.gradient(z, x)

    async def computing(watched, computed, found):
        await watched.wait()
        found.append(x * x)
        computed.set()
        return recorders()

    async def main():
        shared = asyncio.Event(), asyncio.Event(), []
        return await asyncio.gather(recording(*shared), computing(*shared))

    g, stack = asyncio.run(main())
    near(g, 1.0)
    assert stack == ()


def test_a_task_ends_without_leaving_its_tape_to_the_loop(x):
    async def work():
        with GradientTape() as tape:
            tape.watch(x)
            await asyncio.sleep(0)
            return tape

    async def main():
        await asyncio.gather(work(), work())
        return recorders()

    assert asyncio.run(main()) == ()


def test_a_cancelled_task_leaves_no_tape_and_keeps_what_it_recorded(x, near):
    made = []

    async def work():
        with GradientTape() as tape:
            tape.watch(x)
            made.extend([tape, x * x])
            await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return recorders()

    assert asyncio.run(main()) == ()
    tape, y = made
    near(tape.gradient(y, x), 6.0)


def test_to_thread_does_not_record(x, near):
    async def main():
        with GradientTape() as tape:
            tape.watch(x)
            y = await asyncio.to_thread(lambda: x * x)
            stack = await asyncio.to_thread(recorders)
            z = y + x
        return tape.gradient(z, x), stack

    with pytest.warns(TapeWarning, match=r"a part .*in another thread"):
        g, stack = asyncio.run(main())
    near(g, 1.0)
    assert stack == ()
