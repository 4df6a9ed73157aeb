import threading
import time

import pytest

from headwidgets.widgets.lane import Lane


def test_tasks_run_in_order_of_arrival_and_never_at_once():
    lane, seen, inside = Lane("test"), [], threading.Lock()

    def work(number):
        def run(task):
            assert inside.acquire(blocking=False)
            time.sleep(0.005)
            seen.append(number)
            inside.release()

        return run

    for number in range(5):
        lane.submit(work(number))
    assert lane.wait(5)
    assert seen == [0, 1, 2, 3, 4]


def test_a_newer_task_cancels_the_one_it_replaces():
    lane, begun, seen = Lane("test"), threading.Event(), []

    def slow(task):
        begun.set()
        while not task.cancelled():
            time.sleep(0.002)
        seen.append("stopped")

    old = lane.submit(slow, replaces="estimate")
    assert begun.wait(5)
    never = lane.submit(lambda task: seen.append("never"), replaces="estimate")
    lane.submit(lambda task: seen.append("newest"), replaces="estimate")
    assert lane.wait(5)
    assert seen == ["stopped", "newest"]
    assert old.stopped
    assert never.stopped


def test_background_work_steps_aside_and_comes_back():
    lane, begun, seen, done = Lane("test"), threading.Event(), [], []

    def fill(task):
        while len(done) < 3:
            if task.cancelled():
                seen.append("aside")
                return
            begun.set()
            time.sleep(0.01)
            if "asked" in seen:
                done.append(1)
        seen.append("filled")

    lane.submit(fill, background=True)
    assert begun.wait(5)
    lane.submit(lambda task: seen.append("asked"))
    assert lane.wait(5)
    assert seen == ["aside", "asked", "filled"]


def test_waiting_for_what_was_asked_does_not_wait_for_the_background():
    lane, stop = Lane("test"), threading.Event()
    lane.submit(lambda task: stop.wait(5), background=True)
    assert lane.wait(5, background=False)
    assert lane.busy
    stop.set()
    assert lane.wait(5)


def test_an_error_reaches_whoever_waits_once_and_the_lane_goes_on():
    lane, seen = Lane("test"), []

    def fail(task):
        raise ValueError("no")

    lane.submit(fail)
    lane.submit(lambda task: seen.append("next"))
    with pytest.raises(ValueError, match="no"):
        lane.wait(5)
    assert lane.wait(5)
    assert seen == ["next"]


def test_closing_stops_what_runs_and_takes_nothing_more():
    lane, begun, ended = Lane("test"), threading.Event(), threading.Event()

    def slow(task):
        begun.set()
        while not task.cancelled():
            time.sleep(0.002)
        ended.set()

    lane.submit(slow)
    assert begun.wait(5)
    lane.close()
    assert ended.is_set()
    assert lane.submit(lambda task: pytest.fail("ran after closing")).stopped
    assert lane.wait(1)


def test_a_task_may_close_its_own_lane():
    lane, ended = Lane("test"), threading.Event()

    def work(task):
        began = time.monotonic()
        lane.close()
        if time.monotonic() - began < 4:
            ended.set()

    lane.submit(work)
    assert ended.wait(8)


def test_submitting_never_waits_for_what_runs():
    lane, stop = Lane("test"), threading.Event()
    lane.submit(lambda task: stop.wait(5))
    began = time.monotonic()
    for _ in range(100):
        lane.submit(lambda task: None)
    assert time.monotonic() - began < 4
    stop.set()
    assert lane.wait(5)
