"""A grid that shows what a job has found so far."""

import threading

import numpy as np
import pytest

import headwidgets.widgets as hw
from headwidgets import jobs
from headwidgets.errors import Cancelled, InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.wire.arrays import unpack

from .fakes import Page


def scores(n, of=64, value=None):
    provenance = {"model": "m", "version": "1", "settings": {"of": of}}
    values = np.full((3, 4), float(n if value is None else value))
    return HeadScores({"encoder": values}, name="importance", n=n, provenance=provenance)


class Work:
    """A function to run as a job, one step at a time."""

    def __init__(self, fail=None):
        self.steps, self.fail = threading.Semaphore(0), fail
        self.began = threading.Event()

    def __call__(self, on_progress=None, on_partial=None, cancel=None):
        self.began.set()
        for done in (16, 32, 64):
            while not self.steps.acquire(timeout=0.01):
                if cancel():
                    raise Cancelled("stopped")
            if cancel():
                raise Cancelled("stopped")
            if self.fail is not None and done == 32:
                raise self.fail
            on_progress(done, 64)
            if done < 64:
                on_partial(scores(done))
        return scores(64)

    def go(self, count=1):
        for _ in range(count):
            self.steps.release()


def started(work, **options):
    job = jobs.start(work, name="importance")
    grid = hw.HeadGrid(job, **options)
    return job, grid, Page(grid)


def seen(grid):
    panels = unpack(grid.document, grid.buffer)["panels"]
    return panels[0]["scores"][0]["n"] if panels else None


def test_partial_scores_arrive_and_the_result_stays():
    work = Work()
    job, grid, page = started(work, title="Importance", wait=0)
    assert (seen(grid), grid.running, grid.job) == (None, True, job)
    assert grid.summary() == "HeadGrid(importance is running.)"
    assert grid.picture()["panels"] == []
    work.go()
    page.until(lambda: seen(grid) == 16)
    assert grid.status.startswith("importance: 16 of 64 texts (25 % done)")
    assert grid.document["title"] == "Importance"
    grid.selected = [Head("encoder", 2, 1)]
    work.go()
    page.until(lambda: seen(grid) == 32)
    work.go()
    assert grid.wait(10)
    assert (seen(grid), grid.status, grid.running) == (64, "", False)
    assert grid.selected == (Head("encoder", 2, 1),)
    assert grid.shapes == {"encoder": (3, 4)}
    assert page.states("running")[-1] is False
    versions = page.states("version")
    assert versions == sorted(set(versions))


def test_the_first_scores_are_there_when_they_come_in_time():
    work = Work()
    work.go()
    job, grid, _ = started(work, wait=10)
    assert seen(grid) == 16
    job.cancel()


def test_a_finished_job_is_a_result():
    work = Work()
    work.go(3)
    job = jobs.start(work)
    job.wait(10)
    grid = hw.HeadGrid(job)
    assert (seen(grid), grid.running, grid.status) == (64, False, "")


def test_stop_from_the_page_ends_the_job_and_keeps_what_was_found():
    work = Work()
    work.go()
    job, grid, page = started(work, wait=10)
    page.ask(id=7, ask="stop")
    assert page.answered(7)["answer"] == "done"
    page.until(lambda: not grid.running)
    assert job.cancelled
    assert grid.status == "importance was stopped after 16 of 64 texts."
    assert seen(grid) == 16
    assert grid.wait(1)


def test_what_went_wrong_ends_in_the_status_and_in_wait():
    work = Work(fail=InputError("text 3 is empty"))
    work.go(2)
    _, grid, page = started(work, wait=10)
    page.until(lambda: not grid.running)
    assert grid.status == "text 3 is empty"
    assert seen(grid) == 16
    with pytest.raises(InputError, match="text 3"):
        grid.wait()


def test_a_result_that_is_no_scores_is_said_so():
    job = jobs.start(lambda: "a word")
    job.wait(10)
    grid = hw.HeadGrid(job)
    assert "expected an array of numbers" in grid.status
    assert not grid.running


def test_closing_the_grid_leaves_the_job_running():
    work = Work()
    job, grid, _ = started(work, wait=0)
    grid.close()
    work.go(3)
    assert job.result(10).n == 64
    assert not job._callbacks


def test_other_scores_take_the_place_of_the_job():
    work = Work()
    job, grid, _ = started(work, wait=0)
    grid.show(np.zeros((2, 2)))
    assert (grid.job, grid.running, grid.status) == (None, False, "")
    work.go(3)
    job.wait(10)
    assert grid.shapes == {"encoder": (2, 2)}


def test_a_request_that_a_grid_does_not_know_is_answered():
    grid = hw.HeadGrid(np.zeros((2, 2)))
    page = Page(grid)
    page.ask(id=1, ask="words", words=True)
    assert "no answer" in page.answered(1)["message"]
    grid.stop()
