//! Contradictions as sentences: witnesses, reasons and anomaly names.
