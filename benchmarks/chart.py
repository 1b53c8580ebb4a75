"""Line charts as SVG, for pages of docs/."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 72, 150, 40, 48
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700")
FONT = 'font-family="sans-serif" font-size="12"'
TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis, with the labels of its values."""

    title: str
    is_logarithmic: bool = False
    label: Callable[[float], str] = "{:g}".format


def draw(title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> str:
    """Return a chart; linear axes begin at 0."""
    across = _Scale.over([at for line in lines for at, _ in line.points], LEFT, WIDTH - RIGHT, x)
    up = _Scale.over([at for line in lines for _, at in line.points], HEIGHT - BOTTOM, TOP, y)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {FONT}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 20, title, weight="bold"),
        *(_tick_across(across, value, x) for value in across.ticks()),
        *(_tick_up(up, value, y) for value in up.ticks()),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x.title, anchor="middle"),
        _text(8, TOP - 8, y.title),
    ]
    for number, line in enumerate(lines):
        drawn += _line(line, COLOURS[number % len(COLOURS)], across, up, TOP + 18 * number + 12)
    return "\n".join([*drawn, "</svg>", ""])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    low: float
    high: float
    begin: float
    end: float
    is_logarithmic: bool

    @classmethod
    def over(cls, values: Sequence[float], begin: float, end: float, axis: Axis) -> _Scale:
        if axis.is_logarithmic:
            low, high = min(values), max(values)
            return cls(low=low, high=max(high, low * 1.01), begin=begin, end=end, is_logarithmic=True)
        step = _step(max(values, default=0) or 1.0)
        high = step * ceil(max(values, default=0) / step or 1)
        return cls(low=0.0, high=high, begin=begin, end=end, is_logarithmic=False)

    def place(self, value: float) -> float:
        """Return where a value is drawn."""
        if self.is_logarithmic:
            share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)

    def ticks(self) -> Iterator[float]:
        """Yield the values that are labelled."""
        if self.is_logarithmic:
            exponent = ceil(log10(self.low) - 1e-9)
            while 10.0**exponent <= self.high * 1.001:
                yield 10.0**exponent
                exponent += 1
            return
        step = _step(self.high)
        yield from (step * number for number in range(round(self.high / step) + 1))


def _step(high: float) -> float:
    """Return a round distance of ticks."""
    rough = high / TICKS
    power = 10.0 ** (ceil(log10(rough)) - 1)
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)


def _tick_across(scale: _Scale, value: float, axis: Axis) -> str:
    place = scale.place(value)
    rule = f'<path d="M{place} {TOP}V{HEIGHT - BOTTOM}" stroke="#d0d7de"/>'
    return rule + _text(place, HEIGHT - BOTTOM + 16, axis.label(value), anchor="middle")


def _tick_up(scale: _Scale, value: float, axis: Axis) -> str:
    place = scale.place(value)
    rule = f'<path d="M{LEFT} {place}H{WIDTH - RIGHT}" stroke="#d0d7de"/>'
    return rule + _text(LEFT - 6, place + 4, axis.label(value), anchor="end")


def _line(line: Line, colour: str, across: _Scale, up: _Scale, label_y: float) -> list[str]:
    points = " ".join(f"{across.place(x)},{up.place(y)}" for x, y in line.points)
    begin = WIDTH - RIGHT + 10
    return [
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
        f'<path d="M{begin} {label_y - 4}h16" stroke="{colour}" stroke-width="2"/>',
        _text(begin + 20, label_y, line.name),
    ]


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}" fill="#1f2328">{escape(text)}</text>'
    )
