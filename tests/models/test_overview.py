"""Maps made small: thumbnails and a map within a budget."""

import numpy as np
import pytest

from headwidgets.errors import InputError
from headwidgets.models.overview import MAX_CELLS, pooled, thumbnails


def test_short_maps_are_only_scaled():
    maps = np.zeros((2, 3, 4, 5), dtype=np.float32)
    maps[0, 0, 1, 2], maps[0, 0, 3, 4] = 0.5, 0.25
    small = thumbnails(maps)
    assert small.shape == (2, 3, 4, 5)
    assert small.dtype == np.uint8
    assert (small[0, 0, 1, 2], small[0, 0, 3, 4]) == (255, 128)
    assert small[1].max() == 0


def test_long_maps_are_averaged_over_nearly_equal_stretches():
    maps = np.random.default_rng(0).random((2, 40, 33)).astype(np.float32)
    small = thumbnails(maps)
    assert small.shape == (2, 16, 16)
    rows, columns = np.round(np.linspace(0, 40, 17)).astype(int), np.round(np.linspace(0, 33, 17)).astype(int)
    means = np.array(
        [[maps[1, a:b, c:d].mean() for c, d in zip(columns, columns[1:])] for a, b in zip(rows, rows[1:])]  # noqa: B905, RUF007
    )
    np.testing.assert_allclose(small[1], 255 * means / means.max(), atol=0.51)


def test_a_missing_head_is_dark():
    maps = np.full((1, 2, 4, 4), np.nan, dtype=np.float32)
    maps[0, 0] = 0.25
    assert thumbnails(maps)[0, 1].max() == 0
    assert thumbnails(maps)[0, 0].min() == 255


@pytest.mark.parametrize("shape", [(3, 4), (512, 512), (4096, 4096), (1, 300_000), (1000, 200)])
def test_a_map_fits_into_its_budget(shape):
    values = np.ones(shape, dtype=np.float32)
    small, query_step, key_step = pooled(values)
    assert small.size <= MAX_CELLS
    assert small.dtype == np.float32
    assert small.shape == (-(-shape[0] // query_step), -(-shape[1] // key_step))
    np.testing.assert_array_equal(small, 1)
    if values.size <= MAX_CELLS:
        assert (query_step, key_step) == (1, 1)


def test_a_map_is_averaged_over_blocks_of_tokens():
    values = np.arange(35, dtype=np.float32).reshape(5, 7)
    small, query_step, key_step = pooled(values, max_cells=12)
    assert (query_step, key_step) == (2, 2)
    expected = [[values[i : i + 2, j : j + 2].mean() for j in range(0, 7, 2)] for i in range(0, 5, 2)]
    np.testing.assert_allclose(small, expected)


def test_bad_maps():
    with pytest.raises(InputError, match="at least one cell"):
        pooled(np.zeros((0, 3)))
    with pytest.raises(InputError, match="max_cells"):
        pooled(np.zeros((2, 3)), 0)
    with pytest.raises(InputError, match="query, key"):
        thumbnails(np.zeros(3))
