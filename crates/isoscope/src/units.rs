//! Durations, sizes and counts as people write and read them.

use std::time::Duration;

/// The names of a unit, as people write them, and what it is worth.
type Unit = (&'static [&'static str], f64);

const DURATION_UNITS: [Unit; 8] = [
    (&["ns"], 1.0),
    (&["us", "µs"], 1e3),
    (&["ms"], 1e6),
    (&["s", "sec", "secs", "second", "seconds"], 1e9),
    (&["m", "min", "mins", "minute", "minutes"], 60e9),
    (&["h", "hr", "hour", "hours"], 3600e9),
    (&["d", "day", "days"], 86_400e9),
    (&["w", "week", "weeks"], 604_800e9),
];

/// In lower case; a unit without a B is binary, as it is for most tools with such a flag.
const SIZE_UNITS: [Unit; 9] = [
    (&["b", "byte", "bytes"], 1.0),
    (&["kb"], 1e3),
    (&["mb"], 1e6),
    (&["gb"], 1e9),
    (&["tb"], 1e12),
    (&["kib", "k"], 1024.0),
    (&["mib", "m"], 1_048_576.0),
    (&["gib", "g"], 1_073_741_824.0),
    (&["tib", "t"], 1_099_511_627_776.0),
];

fn worth(units: &[Unit], name: &str) -> Option<f64> {
    units.iter().find(|(names, _)| names.contains(&name)).map(|(_, worth)| *worth)
}

/// A duration such as `5ms`, `1.5s`, `2 minutes` or `1h30m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let refusal = || format!("expected a duration such as 5ms, 1.5s, 2m or 1h30m, found `{text}`");
    let mut nanoseconds = 0.0;
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    while !rest.is_empty() || text.trim().is_empty() {
        let (number, after) = split_unit(rest).ok_or_else(refusal)?;
        let end = after.find(|char: char| !char.is_alphabetic()).unwrap_or(after.len());
        nanoseconds += number * worth(&DURATION_UNITS, &after[..end]).ok_or_else(refusal)?;
        rest = after[end..].trim_start();
    }
    if nanoseconds > i64::MAX as f64 / 4.0 {
        return Err(format!("{text} is longer than isoscope can measure"));
    }
    Ok(Duration::from_nanos(nanoseconds.round() as u64))
}

/// A size in bytes such as `512MB` or `4GiB`.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let refusal = || format!("expected a size such as 512MB or 4GiB, found `{text}`");
    let (number, unit) = split_unit(text).ok_or_else(refusal)?;
    let bytes = number * worth(&SIZE_UNITS, &unit.trim_end().to_lowercase()).ok_or_else(refusal)?;
    if bytes < 1.0 || bytes > u64::MAX as f64 {
        return Err(refusal());
    }
    Ok(bytes as u64)
}

fn split_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim_start()))
}

/// A count with its thousands apart: `1,203`.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 key`, `2 keys`.
pub fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

/// A duration with three digits and the unit that fits: `4.07 ms`.
pub fn duration(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos() as f64;
    let (scale, unit) = match nanoseconds {
        n if n < 1e3 => return format!("{} ns", duration.as_nanos()),
        n if n < 1e6 => (1e3, "us"),
        n if n < 1e9 => (1e6, "ms"),
        n if n < 120e9 => (1e9, "s"),
        _ => (60e9, "min"),
    };
    format!("{} {unit}", three_digits(nanoseconds / scale))
}

/// A duration of nanoseconds without rounding, as [`parse_duration`] reads it: `5ms`, `1500us`, `0`.
pub fn exact_duration(nanoseconds: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("ns", 1)];
    let unit = UNITS.iter().find(|(_, scale)| nanoseconds % scale == 0);
    match unit {
        Some((name, scale)) if nanoseconds != 0 => format!("{}{name}", nanoseconds / scale),
        _ => "0".into(),
    }
}

/// A size with three digits and the unit that fits: `41.2 MB`.
pub fn size(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        b if b < 1000 => return format!("{b} B"),
        b if b < 1_000_000 => (1e3, "kB"),
        b if b < 1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{} {unit}", three_digits(bytes as f64 / scale))
}

fn three_digits(number: f64) -> String {
    match number {
        n if n < 9.995 => format!("{n:.2}"),
        n if n < 99.95 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

/// Milliseconds with microsecond resolution, for JSON.
pub fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(parse_duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("2 minutes"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "ms", "-5ms", "5 parsecs", "1..2s", "9999999999h"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_exact_duration_is_read_back_as_it_was() {
        for (nanoseconds, text) in
            [(0, "0"), (1, "1ns"), (1500, "1500ns"), (2_000_000_000, "2s"), (5_000_000, "5ms")]
        {
            assert_eq!(exact_duration(nanoseconds), text);
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanoseconds as u64)));
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size("1.5MB"), Ok(1_500_000));
        assert_eq!((parse_size("4g"), parse_size("512 mb")), (Ok(4 << 30), Ok(512_000_000)));
        for wrong in ["", "4", "GiB", "0MB", "-1GB", "4gigs"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1203456)], ["0", "999", "1,203,456"]);
        assert_eq!(counted(1, "key") + ", " + &counted(2, "session"), "1 key, 2 sessions");
        assert_eq!(duration(Duration::from_micros(4070)), "4.07 ms");
        assert_eq!(duration(Duration::from_micros(999_999)), "1000 ms");
        assert_eq!(size(41_234_567), "41.2 MB");
        assert_eq!(milliseconds(Duration::from_nanos(1_234_567)), 1.235);
    }
}
