"""Screening: which devices and links are good enough to play."""

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


@dataclass(frozen=True, slots=True)
class Screening:
    """What is required of a device.

    Attributes:
      least_width, least_height: of the window, in pixels.
      needs_keyboard: whether people must have one.
      refused_browsers: names, in lower case.
      most_latency_ms: median round trip; at entry, and during play.

    >>> Screening(most_latency_ms=150).problems(Device(800, 600, has_keyboard=True, latency_ms=210.0))
    ['the link: expected a round trip of up to 150 ms, got 210 ms']
    """

    least_width: int = 0
    least_height: int = 0
    needs_keyboard: bool = True
    refused_browsers: tuple[str, ...] = ()
    most_latency_ms: float = float("inf")

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
