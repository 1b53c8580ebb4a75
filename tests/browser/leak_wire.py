"""A network interface that leads nowhere and captures every packet that leaves the machine."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import shutil
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

TUN: Final = "/dev/net/tun"
NAME: Final = "eikon0"
TUNSETIFF: Final = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
TCP, UDP, ICMPV6, HOP_BY_HOP = 6, 17, 58, 0
IP_4 = 4
SET_UP: Final = (
    "link set lo up",
    f"link set {NAME} txqueuelen 100000 up",
    f"addr add 10.99.0.2/24 dev {NAME}",
    f"addr add fd00:99::2/64 dev {NAME} nodad",
    f"route add default dev {NAME}",
    f"-6 route add default dev {NAME}",
)


class Packet(NamedTuple):
    """A captured packet."""

    protocol: str
    destination: str


class Wire:
    """Reads packets sent into the interface."""

    def __init__(self, descriptor: int) -> None:
        """Read from an open interface."""
        self._descriptor = descriptor

    def drain(self) -> tuple[Packet, ...]:
        """Return all packets since the previous call, except those of IPv6 autoconfiguration."""
        packets: list[Packet] = []
        while True:
            try:
                packet = _parse(os.read(self._descriptor, 65_536))
            except BlockingIOError:
                return tuple(packets)
            if packet is not None:
                packets.append(packet)


@contextmanager
def open_wire() -> Iterator[Wire]:
    """Make the interface the default route of our network namespace, which must have no other."""
    others = sorted(set(_interfaces()) - {"lo"})
    assert others == [], f"a namespace with other interfaces: {others}"
    descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH14x", NAME.encode(), IFF_TUN | IFF_NO_PI))
        ip = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin") or "ip"
        for command in SET_UP:
            subprocess.run([ip, *command.split()], check=True)
        yield Wire(descriptor)
    finally:
        os.close(descriptor)


def _interfaces() -> tuple[str, ...]:
    """Return the interfaces of our namespace; /sys may show those of another."""
    lines = Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()[2:]
    return tuple(line.partition(":")[0].strip() for line in lines)


def _parse(data: bytes) -> Packet | None:
    """Return protocol and destination; None for the packets of IPv6 autoconfiguration."""
    if data[0] >> 4 == IP_4:
        start, protocol, address = (data[0] & 15) * 4, data[9], data[16:20]
    else:
        start, protocol, address = 40, data[6], data[24:40]
        if protocol in {ICMPV6, HOP_BY_HOP}:
            return None
    host = str(ipaddress.ip_address(address))
    if protocol not in {TCP, UDP}:
        return Packet(f"protocol {protocol}", host)
    port = int.from_bytes(data[start + 2 : start + 4])
    return Packet("TCP" if protocol == TCP else "UDP", f"{host} port {port}")
