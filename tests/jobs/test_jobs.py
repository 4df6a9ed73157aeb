"""Long work: progress, partial results, cancel, errors that surface, interrupts."""

import logging
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from headwidgets import Cancelled, InputError, jobs
from tests.models.tiny import made


def counting(n, *, pause=0.005, on_progress=None, on_partial=None, cancel=None):
    for i in range(n):
        if cancel is not None and cancel():
            raise Cancelled("the counting was cancelled")
        time.sleep(pause)
        if on_progress is not None:
            on_progress(i + 1, n)
        if on_partial is not None:
            on_partial(i)
    return n


def test_a_job_reports_and_returns():
    seen = []
    gate = threading.Event()

    def work(on_progress, on_partial):
        gate.wait(5)
        return counting(4, on_progress=on_progress, on_partial=on_partial)

    job = jobs.start(work, name="count")
    job.on_change(lambda j: seen.append((j.progress, j.partial)))
    assert not job.done
    gate.set()
    assert job.result(timeout=10) == 4
    assert job.done
    assert job.progress == (4, 4)
    assert job.partial == 3
    assert ((2, 4), 1) in seen
    assert "done, 4 of 4" in repr(job)


def test_only_what_a_function_takes_is_given_to_it():
    assert jobs.start(lambda x: x + 1, 2).result(10) == 3
    assert jobs.start(dict, a=1).result(10) == {"a": 1}
    own = []
    assert jobs.start(counting, 2, on_progress=lambda d, t: own.append(d)).result(10) == 2
    assert own == [1, 2]


def test_cancel_stops_within_a_step():
    job = jobs.start(counting, 10_000)
    while job.progress[0] < 2:
        time.sleep(0.001)
    job.cancel()
    begin = time.monotonic()
    with pytest.raises(Cancelled, match="the counting was cancelled"):
        job.result(10)
    assert time.monotonic() - begin < 5
    assert job.cancelled
    assert "cancelled" in repr(job)
    job.cancel()


def test_a_callers_own_cancel_counts_too():
    job = jobs.start(counting, 10_000, cancel=lambda: True)
    with pytest.raises(Cancelled):
        job.result(10)
    assert not job.cancelled


def fail():
    raise InputError("expected a text, got nothing")


def test_an_error_is_raised_in_the_caller():
    job = jobs.start(fail)
    for _ in range(2):
        with pytest.raises(InputError, match="expected a text"):
            job.result(10)
    assert isinstance(job.error, InputError)


def test_an_error_that_nobody_asks_for_is_logged_once(caplog, monkeypatch):
    monkeypatch.setattr(jobs, "_GRACE", 0.05)
    with caplog.at_level(logging.ERROR, logger="headwidgets"):
        jobs.start(fail, name="quiet")._thread.join(5)
        asked = jobs.start(fail, name="asked")
        with pytest.raises(InputError):
            asked.result(5)
        asked._thread.join(5)
        jobs.start(counting, 5, cancel=lambda: True)._thread.join(5)
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["job 'quiet' failed: InputError: expected a text, got nothing"]


def test_a_listener_that_fails_does_not_end_the_work(caplog):
    job = jobs.start(counting, 5)
    job.on_change(lambda _: 1 / 0)
    assert job.result(10) == 5
    assert "a listener of job" in caplog.text


def test_a_listener_can_leave_and_a_late_one_is_told():
    seen = []
    job = jobs.start(counting, 5)
    leave = job.on_change(lambda j: seen.append("first"))
    leave()
    leave()
    job.result(10)
    job.on_change(lambda j: seen.append(j.done))
    assert seen[-1] is True


def test_a_result_that_is_late():
    job = jobs.start(counting, 200)
    with pytest.raises(TimeoutError, match="it goes on"):
        job.result(timeout=0.05)
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(10)


def test_a_job_cannot_wait_for_itself():
    box = []

    def work():
        while not box:
            time.sleep(0.001)
        return box[0].result()

    job = jobs.start(work)
    box.append(job)
    with pytest.raises(InputError, match="own result"):
        job.result(10)


# ---- blocking calls


@jobs.blocking
def outer(n, *, on_progress=None, cancel=None):
    """Counts twice; the inner counting is part of the outer work."""
    inner(n)
    if on_progress is not None:
        on_progress(1, 2)
    return inner(n)


@jobs.blocking
def inner(n, *, on_progress=None, cancel=None):
    return counting(n, on_progress=on_progress, cancel=cancel)


def test_a_blocking_call_returns_and_raises_like_a_plain_one():
    assert inner(3) == 3
    assert jobs.run(counting, 3) == 3
    with pytest.raises(InputError):
        jobs.run(fail)
    assert inner.__name__ == "inner"


def test_inner_work_is_cancelled_with_the_outer_and_does_not_take_over_its_progress():
    job = jobs.start(outer, 3)
    assert job.result(10) == 3
    assert job.progress == (1, 2)
    job = jobs.start(outer, 10_000)
    time.sleep(0.05)
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(10)


def test_a_function_that_is_not_an_engine_function_hands_its_job_on():
    job = jobs.start(lambda: inner(4))
    assert job.result(10) == 4
    assert job.progress == (4, 4)


def interrupted(code, wait_for="ready"):
    """Run code in a process of its own, interrupt it once it says so, and return its output and exit status."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines = []
    for line in process.stdout:
        lines.append(line)
        if wait_for in line:
            process.send_signal(signal.SIGINT)
    process.wait(20)
    return "".join(lines), process.returncode


WORK = """
    import time
    from headwidgets import Cancelled, jobs
    from contextlib import contextmanager

    @contextmanager
    def hooks():
        print("hooks on", flush=True)
        try:
            yield
        finally:
            time.sleep(0.2)  # an interrupt that came right here would leave hooks on
            print("hooks off", flush=True)

    def work(on_progress=None, cancel=None):
        for i in range(500):
            if cancel():
                raise Cancelled("stopped in good order")
            with hooks():
                print("ready" if i == 1 else "", flush=True)
                time.sleep(0.02)
"""


def test_an_interrupt_of_a_blocking_call_waits_for_the_step_and_then_raises():
    code = (
        WORK
        + """
    try:
        jobs.run(work)
    except KeyboardInterrupt as stop:
        print("interrupted after", repr(stop.__cause__))
    """
    )
    output, status = interrupted(code)
    assert status == 0, output
    assert output.count("hooks on") == output.count("hooks off") == 2
    assert "interrupted after Cancelled('stopped in good order')" in output


def test_an_interrupt_while_waiting_for_a_result_cancels_the_job():
    code = (
        WORK
        + """
    job = jobs.start(work)
    try:
        job.result()
    except KeyboardInterrupt:
        print("interrupted", job.cancelled, job.done)
    """
    )
    output, status = interrupted(code)
    assert status == 0, output
    assert "interrupted True True" in output


def test_the_interrupt_handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    inner(2)
    with pytest.raises(Cancelled):
        inner(5, cancel=lambda: True)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_job_that_still_runs_at_exit_is_cancelled():
    code = """
        import time
        from headwidgets import Cancelled, jobs
        def work(cancel):
            while not cancel():
                time.sleep(0.01)
            print("cancelled at exit", flush=True)
        jobs.start(work)
        time.sleep(0.1)
    """
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "cancelled at exit" in done.stdout
    assert time.monotonic() - begin < 15


# ---- progress for a reader


def test_a_script_shows_a_bar_when_asked(capsys):
    assert jobs.run(counting, 3, name="counting", progress=True) == 3
    assert "counting" in capsys.readouterr().err
    jobs.run(counting, 3, name="counting")
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_one_line_of_text(monkeypatch):
    from headwidgets import progress

    shown = []

    class Line:
        def update(self, content, raw):
            shown.append(content["text/plain"])

    def display(content, raw, display_id):
        shown.append(content["text/plain"])
        return Line()

    import IPython.display

    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "_PERIOD", 0.0)
    monkeypatch.setattr(IPython.display, "display", display)
    jobs.run(counting, 3, name="counting", progress=True)
    assert shown[0].startswith("counting: 1 of 3")
    assert shown[-1].startswith("counting: 3 of 3")
    with pytest.raises(Cancelled):
        jobs.run(counting, 100, name="counting", progress=True, cancel=lambda: len(shown) > 8)
    assert "stopped (Cancelled)" in shown[-1]


def test_what_cannot_be_called_is_refused_at_once():
    with pytest.raises(InputError, match="expected a function and its arguments"):
        jobs.start("evaluate")


def test_waiting_for_a_job_that_waits_for_us_is_an_error_not_a_hang():
    model = made("bert", "sequence")
    with model.gated(pruned=model.heads()[:1]):
        job = jobs.start(model.evaluate, ["the cat", "a dog"], [0, 1])
        with pytest.raises(InputError, match="would wait forever: job 'evaluate' needs the model"):
            job.result(timeout=20)
        assert model.evaluate(["the cat", "a dog"], [0, 1]).n == 2
    assert job.result(timeout=20).n == 2


def test_waiting_for_another_thread_is_no_circle():
    model = made("bert", "sequence")
    with model.lock:
        job = jobs.start(lambda: jobs.start(model.evaluate, ["the cat", "a dog"], [0, 1]).result(timeout=20))
        assert not job.wait(0.5)
    assert job.result(timeout=20).n == 2


def test_a_plain_call_puts_nothing_together_that_nobody_sees():
    given = []

    def work(n, on_progress=None, on_partial=None, cancel=None):
        given.append(on_partial)
        return counting(n, on_progress=on_progress, on_partial=on_partial, cancel=cancel)

    assert jobs.run(work, 2) == 2
    assert given == [None]
    own = []
    assert jobs.run(work, 2, on_partial=own.append) == 2
    assert own == [0, 1]
    job = jobs.start(work, 3)
    assert job.result(10) == 3
    assert job.partial == 2
