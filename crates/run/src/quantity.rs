//! Durations and numbers as configuration files and flags have them.

use std::str::FromStr;
use std::time::Duration;

const UNITS: [(&str, f64); 6] =
    [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("min", 60.0), ("h", 3600.0)];
const LONGEST_SECONDS: f64 = 1e9;

/// A duration such as `500ms`, `10s` or `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let refusal = || format!("expected a duration such as 500ms, 10s or 2m, found `{text}`");
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let value: f64 = text[..end].parse().map_err(|_| refusal())?;
    let unit = UNITS.iter().find(|(name, _)| *name == text[end..].trim());
    let seconds = value * unit.ok_or_else(refusal)?.1;
    if seconds > LONGEST_SECONDS {
        return Err(format!("{text} is longer than a run can take"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A number of any kind.
pub fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().replace('_', "").parse().map_err(|_| format!("expected a number, found `{text}`"))
}

/// A number, or two with a hyphen between them.
pub fn span(text: &str) -> Result<(u32, u32), String> {
    match text.split_once('-') {
        Some((least, most)) => Ok((number(least)?, number(most)?)),
        None => number(text).map(|both| (both, both)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "5", "s", "-1s", "1 fortnight", "999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(span("2-8"), Ok((2, 8)));
        assert_eq!(span("50_000"), Ok((50_000, 50_000)));
    }
}
