"""What a picture shows in numbers: extremes, percentiles, counts, histogram. NumPy only, any thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.model import Array

Range = tuple[float, float]
HISTOGRAM_BINS = 256


@dataclass(frozen=True)
class Statistics:
    """Counts and extremes of the cells that belong to a request; NaN where no cell is finite.

    `cells = valid + no_data + infinite`.
    """

    cells: int
    valid: int
    no_data: int
    infinite: int
    minimum: float
    maximum: float
    mean: float


def statistics(values: Array, mask: Array | None = None) -> Statistics:
    """Exact over the finite cells, however few they are (case 13)."""
    part = values.reshape(-1) if mask is None else values[mask]
    finite = np.isfinite(part)
    valid = int(np.count_nonzero(finite))
    missing = int(np.count_nonzero(np.isnan(part)))
    kept = part if valid == part.size else part[finite]
    low, high = (float(kept.min()), float(kept.max())) if valid else (np.nan, np.nan)
    # the mean of x / n cannot overflow where the sum of x does
    mean = min(max(float((kept / valid).sum()), low), high) if valid else np.nan
    return Statistics(int(part.size), valid, missing, int(part.size) - valid - missing, low, high, mean)


def exact_range(values: Array, mask: Array | None = None) -> Range | None:
    """Exact minimum and maximum of the finite cells; None where there is none."""
    found = statistics(values, mask)
    return (found.minimum, found.maximum) if found.valid else None


def percentile_range(values: Array, low: float = 2.0, high: float = 98.0, mask: Array | None = None) -> Range | None:
    """The named percentiles of the finite cells; None where there is none."""
    part = values.reshape(-1) if mask is None else values[mask]
    kept = part[np.isfinite(part)]
    if not kept.size:
        return None
    with np.errstate(over="ignore"):
        bounds = np.percentile(kept, (low, high))
    if not np.isfinite(bounds).all():  # a difference of the extremes overflowed
        bounds = np.percentile(kept, (low, high), method="nearest")
    return float(bounds[0]), float(bounds[1])


def place_in_range(values: Array, shown: Range) -> Array:
    """Values as 0 ... 1 of the range, not clipped; 0.5 for a flat range, NaN stays NaN."""
    low, high = shown
    if not high > low:
        return np.asarray(np.where(np.isnan(values), np.nan, 0.5))
    with np.errstate(over="ignore", invalid="ignore"):
        span = high - low
        if np.isfinite(span):
            return np.asarray((values - low) / span)
        return np.asarray((values / 2 - low / 2) / (high / 2 - low / 2))


def histogram(values: Array, shown: Range, bins: int = HISTOGRAM_BINS) -> Array:
    """(bins,) int64: cells per equal part of the range; cells outside it are not counted."""
    place = place_in_range(values.reshape(-1), shown)
    inside = place[(place >= 0) & (place <= 1)]
    return np.bincount(np.minimum((inside * bins).astype(np.int64), bins - 1), minlength=bins)
