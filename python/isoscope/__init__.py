"""Finds out which isolation a database really gives.

A history is what clients of a database saw: sessions of transactions of operations.

>>> import isoscope
>>> history = isoscope.parse('''
...     a: r(x)=0 r(y)=0 w(x)=1
...     b: r(x)=0 r(y)=0 w(y)=1
... ''')
>>> report = isoscope.check(history, ["snapshot-isolation", "serializable"])
>>> report["snapshot-isolation"].verdict
'holds'
>>> report["serializable"].anomaly
'write skew'

Every verdict has a certificate that a checker accepted, which shares no code with the engine.
`docs/python.md` of the project describes the package.
"""

from isoscope._isoscope import (
    CertificateError,
    Error,
    InternalError,
    LevelError,
    LimitError,
    ReadError,
    WriteError,
)
from isoscope.batch import Answers, check_bytes, check_file, check_files, histories_below
from isoscope.certificates import Certificate, Proof, certify
from isoscope.checking import check
from isoscope.histories import History, formats, from_rows, parse, read, read_bytes
from isoscope.levels import Comparison, Level, Separation, compare, level, levels, parse_levels, read_levels, synth
from isoscope.recorder import Recorder, Session, Transaction
from isoscope.report import Answer, Explanation, Report, Witness, WitnessEdge
from isoscope.tables import from_arrow, from_columns, from_pandas, from_polars
from isoscope.values import Keyword, Symbol, Tagged

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Answers",
    "Certificate",
    "CertificateError",
    "Comparison",
    "Error",
    "Explanation",
    "History",
    "InternalError",
    "Keyword",
    "Level",
    "LevelError",
    "LimitError",
    "Proof",
    "ReadError",
    "Recorder",
    "Report",
    "Separation",
    "Session",
    "Symbol",
    "Tagged",
    "Transaction",
    "Witness",
    "WitnessEdge",
    "WriteError",
    "certify",
    "check",
    "check_bytes",
    "check_file",
    "check_files",
    "compare",
    "formats",
    "from_arrow",
    "from_columns",
    "from_pandas",
    "from_polars",
    "from_rows",
    "histories_below",
    "level",
    "levels",
    "parse",
    "parse_levels",
    "read",
    "read_bytes",
    "read_levels",
    "synth",
]
