"""Certificates: proofs of verdicts, checked by code that shares nothing with the engine."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

from isoscope import _isoscope
from isoscope.histories import History, Path
from isoscope.levels import Levels, resolved
from isoscope.units import Duration, nanoseconds


@dataclass(frozen=True)
class Certificate:
    """The proof of a verdict, in the form that ``isoscope certify`` reads."""

    level: str
    verdict: str
    data: bytes

    def save(self, path: Path) -> None:
        """Writes the certificate to a file, whole or not at all."""
        file = pathlib.Path(path)
        unfinished = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        try:
            unfinished.write_bytes(self.data)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)

    def __bytes__(self) -> bytes:
        return self.data

    def __repr__(self) -> str:
        return f"<Certificate {self.level}: {self.verdict}, {len(self.data)} bytes>"


@dataclass(frozen=True)
class Proof:
    """What a certificate proves for a history."""

    level: str
    verdict: str
    clock_skew_ns: int
    """The clock skew that the verdict assumes."""


def certify(
    history: History,
    certificate: Certificate | bytes | Path,
    level: Levels | None = None,
    *,
    clock_skew: Duration | None = None,
) -> Proof:
    """Checks that a certificate proves its verdict for a history, and raises `CertificateError` if it does not.

    With `level` or `clock_skew`, a certificate about another level or skew is refused too.
    """
    expected = resolved(level)
    data = _data(certificate)
    proof = Proof(*_isoscope.certify_bytes(history._inner, data, [one for one in expected if not one.is_shipped]))
    if expected and proof.level not in [one.name for one in expected]:
        names = " or ".join(one.name for one in expected)
        raise _isoscope.CertificateError(f"expected a certificate for {names}, found one for {proof.level}")
    if clock_skew is not None and nanoseconds(clock_skew) != proof.clock_skew_ns:
        raise _isoscope.CertificateError(
            f"expected a certificate with a clock skew of {clock_skew}, found one with {proof.clock_skew_ns} ns"
        )
    return proof


def _data(certificate: Certificate | bytes | Path) -> bytes:
    match certificate:
        case Certificate():
            return certificate.data
        case bytes() | bytearray() | memoryview():
            return bytes(certificate)
    return pathlib.Path(certificate).read_bytes()
