"""Screening: which devices and links are good enough to play, at entry and, of links, during play."""

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """What a browser states of itself, and what was measured of its link.

    Attributes:
      width, height: of the window, in pixels.
      has_keyboard: whether there is one.
      is_touch: whether it is a touch screen.
      browser: its name, in lower case.
      latency_ms: median round trip.
    """

    width: int
    height: int
    has_keyboard: bool
    is_touch: bool = False
    browser: str = ""
    latency_ms: float = 0.0


class Link(enum.Enum):
    """How the link of a participant who plays is.

    >>> Link.TOO_SLOW.value
    'too slow'
    """

    GOOD = "good"
    WARNED = "warned"
    """Too slow: it is time to warn them."""
    TOO_SLOW = "too slow"
    """It still is, long after the warning: their game ends."""


@dataclass(frozen=True, slots=True)
class Screening:
    """What is required of a device.

    Attributes:
      least_width, least_height: of the window, in pixels.
      needs_keyboard: whether people must have one.
      refused_browsers: names, in lower case.
      most_latency_ms: median round trip; at entry, and during play.
      patience_seconds: from a warning during play until the game ends, if the link stays too slow.

    >>> Screening(most_latency_ms=150).problems(Device(800, 600, has_keyboard=True, latency_ms=210.0))
    ['the link: expected a round trip of up to 150 ms, got 210 ms']
    """

    least_width: int = 0
    least_height: int = 0
    needs_keyboard: bool = True
    refused_browsers: tuple[str, ...] = ()
    most_latency_ms: float = float("inf")
    patience_seconds: float = 60.0

    def link(self, round_trip_ms: float, warned: float | None, now: float) -> Link:
        """How a link is during play.

        Args:
          round_trip_ms: the median of the latest round trips, measured by the server.
          warned: since when the link was too slow without a break, in seconds; None: it was not.
          now: in seconds, likewise.

        >>> screening = Screening(most_latency_ms=150)
        >>> [screening.link(200.0, since, now=100.0).value for since in (None, 90.0, 40.0)]
        ['warned', 'warned', 'too slow']
        """
        if round_trip_ms <= self.most_latency_ms:
            return Link.GOOD
        return Link.WARNED if warned is None or now - warned < self.patience_seconds else Link.TOO_SLOW

    def problems(self, device: Device) -> list[str]:
        """All reasons why a device is not good enough; none: it is."""
        found = []
        if device.width < self.least_width or device.height < self.least_height:
            wanted = f"{self.least_width} x {self.least_height}"
            found.append(f"the window: expected at least {wanted} pixels, got {device.width} x {device.height}")
        if self.needs_keyboard and not device.has_keyboard:
            found.append("the device: expected a keyboard")
        if device.browser.lower() in self.refused_browsers:
            found.append(f"the browser: expected another than {device.browser}")
        if not device.latency_ms <= self.most_latency_ms:
            limit, got = f"{self.most_latency_ms:g} ms", f"{device.latency_ms:g} ms"
            found.append(f"the link: expected a round trip of up to {limit}, got {got}")
        return found
