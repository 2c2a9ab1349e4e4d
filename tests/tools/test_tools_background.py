"""The one background loop: who may wait where, what a stop does, and what is left behind."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from toolnexus_nb.tools import background, threads
from toolnexus_nb.tools.background import (
    block,
    hop,
    in_thread,
    left_running,
    on_main_thread,
    submit,
    sync_twin,
    ticking,
)

value: contextvars.ContextVar[int] = contextvars.ContextVar("value", default=0)


async def where() -> tuple[int, str]:
    await asyncio.sleep(0)
    return value.get(), threading.current_thread().name


def interrupt_after(seconds: float) -> None:
    """Send ourselves what Stop and Ctrl-C send."""

    def fire() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=fire, daemon=True).start()


def test_block_hop_and_submit_run_on_one_loop_in_the_callers_context():
    async def main() -> list[tuple[int, str]]:
        return [await hop(where), block(where), submit(where()).result(5)]

    token = value.set(7)
    try:
        assert [block(where), *asyncio.run(main())] == [(7, "toolnexus-loop")] * 4
    finally:
        value.reset(token)


def test_hop_on_the_background_loop_waits_at_hand():
    async def outer() -> tuple[int, str]:
        return await hop(where)

    assert block(outer)[1] == "toolnexus-loop"


def test_errors_come_back_as_they_were():
    async def broken() -> None:
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        block(broken)
    with pytest.raises(LookupError, match="here"):
        asyncio.run(hop(broken))


def test_blocking_on_the_loops_own_thread_is_refused_with_the_reason():
    async def inside() -> None:
        block(where)

    with pytest.raises(RuntimeError, match="could only wait for itself"):
        block(inside)


def test_cancelling_the_waiter_cancels_the_work_and_waits_for_its_clean_up():
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.05)
            cleaned.append("yes")

    async def main() -> None:
        task = asyncio.create_task(hop(work))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cleaned == ["yes"]


def test_work_that_ignores_its_cancelling_does_not_hold_the_waiter():
    async def stubborn() -> None:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                continue

    async def main() -> float:
        task = asyncio.create_task(hop(stubborn))
        await asyncio.sleep(0.05)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    assert asyncio.run(main()) < background.GRACE + 0.2


def test_work_cancelled_before_its_first_step_ends_the_waiter():
    async def main() -> None:
        task = asyncio.create_task(hop(where))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 5))


def test_a_stopped_work_may_raise_an_error_of_its_own_that_carries_a_result():
    class Partial(asyncio.CancelledError):
        pass

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            raise Partial("half done") from None

    async def main() -> None:
        task = asyncio.create_task(hop(work))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(Partial, match="half done"):
            await task

    asyncio.run(main())


def test_ctrl_c_in_a_blocking_wait_cancels_the_work_at_once():
    cleaned = threading.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.set()

    interrupt_after(0.1)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        block(work)
    assert time.monotonic() - started < 1
    assert cleaned.is_set()


def test_a_keyboard_interrupt_in_the_work_does_not_end_the_loop():
    async def work() -> None:
        raise KeyboardInterrupt

    async def task_of_its_own() -> None:
        await asyncio.create_task(work())

    for one in (work, task_of_its_own):
        with pytest.raises(KeyboardInterrupt):
            block(one)
    assert block(where)[1] == "toolnexus-loop"


def test_the_loop_wakes_25_times_a_second_while_it_waits():
    """Without it ipykernel notices Stop only when something else wakes the loop (ipykernel#881)."""
    wakes: list[float] = []

    async def main(wait: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        select = loop._selector.select  # type: ignore[attr-defined]

        def counted(timeout: float | None) -> object:
            wakes.append(time.monotonic())
            return select(timeout)

        loop._selector.select = counted  # type: ignore[attr-defined]
        await wait()  # type: ignore[misc]

    async def silent() -> None:
        await asyncio.sleep(0.5)

    for wait in (lambda: hop(silent), lambda: ticking(silent())):
        wakes.clear()
        asyncio.run(main(wait))
        assert len(wakes) >= 10


def test_threads_are_ours_daemons_and_reused():
    async def main() -> set[str]:
        seen = set()
        for _ in range(3):
            thread = await in_thread(threading.current_thread)
            assert thread.daemon
            seen.add(str(thread.ident))
        return seen

    assert len(asyncio.run(main())) == 1


def test_calls_side_by_side_get_threads_of_their_own():
    barrier = threading.Barrier(4, timeout=5)

    async def main() -> None:
        await asyncio.gather(*(in_thread(barrier.wait) for _ in range(4)))

    asyncio.run(main())


def test_a_thread_whose_waiter_is_cancelled_is_left_and_named_until_it_ends():
    go_on = threading.Event()

    async def main() -> None:
        task = asyncio.create_task(in_thread(go_on.wait, 5, label="sleepy"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert left_running().count("sleepy") == 1

    asyncio.run(main())
    go_on.set()
    time.sleep(0.1)
    assert "sleepy" not in left_running()


def test_an_abandoned_thread_does_not_keep_the_interpreter_alive():
    program = (
        "import asyncio, time\n"
        "from toolnexus_nb.tools.background import in_thread\n"
        "async def main():\n"
        "    task = asyncio.create_task(in_thread(time.sleep, 60))\n"
        "    await asyncio.sleep(0.1)\n"
        "    task.cancel()\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=20)


@pytest.mark.parametrize("wait", [block, lambda make: asyncio.run(hop(make))], ids=["block", "hop"])
def test_the_main_thread_is_reached_through_whoever_waits_there(wait):
    async def work() -> tuple[bool, int]:
        return await on_main_thread(lambda: (threading.current_thread() is threading.main_thread(), value.get()))

    token = value.set(3)
    try:
        assert wait(work) == (True, 3)
    finally:
        value.reset(token)


def test_an_awaitable_of_the_main_thread_runs_on_the_loop_that_waits_there():
    async def main() -> bool:
        loop = asyncio.get_running_loop()

        async def here() -> bool:
            await asyncio.sleep(0)
            return asyncio.get_running_loop() is loop

        return await hop(lambda: on_main_thread(here))

    assert asyncio.run(main())


def test_cancelling_ends_what_was_started_on_the_main_threads_loop():
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("yes")

    async def main() -> None:
        task = asyncio.create_task(hop(lambda: on_main_thread(forever)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert ended == ["yes"]


def test_errors_of_the_main_thread_come_back():
    async def work() -> None:
        await on_main_thread(int, "x")

    with pytest.raises(ValueError, match="invalid literal"):
        block(work)


def test_nobody_on_the_main_thread_is_an_error_at_once():
    async def work() -> None:
        await on_main_thread(print)

    with pytest.raises(RuntimeError, match="nothing there is waiting"):
        submit(work()).result(5)


def test_an_async_main_thread_tool_in_a_blocked_cell_says_what_to_do():
    async def tool() -> int:
        return 1

    async def cell() -> None:
        block(lambda: on_main_thread(tool))

    with pytest.raises(RuntimeError, match="await the call instead"):
        asyncio.run(cell())
    assert block(lambda: on_main_thread(tool)) == 1  # no loop runs here: it can be driven


class Thing:
    async def ask(self, question: str, *, loud: bool = False) -> str:
        """Ask it."""
        return question.upper() if loud else question

    ask_sync = sync_twin(ask)


def test_a_twin_keeps_name_signature_and_doc_and_works_under_a_running_loop():
    assert inspect.signature(Thing.ask_sync) == inspect.signature(Thing.ask)
    assert Thing.ask_sync.__name__ == "ask_sync"
    assert "Ask it." in (Thing.ask_sync.__doc__ or "")
    assert Thing().ask_sync("hi", loud=True) == "HI"

    async def cell() -> str:
        return Thing().ask_sync("hi")

    assert asyncio.run(cell()) == "hi"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_fork_the_child_has_a_loop_of_its_own():
    block(where)
    program = (
        "import os\n"
        "from toolnexus_nb.tools.background import block\n"
        "async def one(): return 1\n"
        "block(one)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if block(one) == 1 else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=20)


def test_importing_starts_no_thread():
    program = (
        "import threading, toolnexus_nb.tools.toolkit\n"
        "raise SystemExit([t.name for t in threading.enumerate() if t.name.startswith('toolnexus')] != [])\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


def test_without_threads_everything_is_awaited_at_hand(monkeypatch):
    monkeypatch.setattr(threads, "HAS_THREADS", False)

    async def main() -> list[object]:
        return [(await hop(where))[1], await in_thread(threading.current_thread), await on_main_thread(lambda: 1)]

    main_thread = threading.main_thread()
    assert asyncio.run(main()) == [main_thread.name, main_thread, 1]
    with pytest.raises(RuntimeError, match="no threads"):
        background.background_loop()
