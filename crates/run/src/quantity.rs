//! Durations and numbers as configuration files and flags have them.

use std::str::FromStr;
use std::time::Duration;

/// The names of each unit, as people write them, and its seconds.
const UNITS: [(&[&str], f64); 6] = [
    (&["us", "µs"], 1e-6),
    (&["ms"], 1e-3),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["m", "min", "mins", "minute", "minutes"], 60.0),
    (&["h", "hr", "hour", "hours"], 3600.0),
    (&["d", "day", "days"], 86_400.0),
];
const LONGEST_SECONDS: f64 = 1e9;

/// A duration such as `500ms`, `10s`, `2 minutes` or `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let refusal = || format!("expected a duration such as 500ms, 10s, 2m or 1h30m, found `{text}`");
    let mut seconds = 0.0;
    let mut rest = text.trim();
    loop {
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
        let value: f64 = rest[..end].parse().map_err(|_| refusal())?;
        let after = rest[end..].trim_start();
        let end = after.find(|char: char| !char.is_alphabetic()).unwrap_or(after.len());
        let unit = UNITS.iter().find(|(names, _)| names.contains(&&after[..end]));
        seconds += value * unit.ok_or_else(refusal)?.1;
        rest = after[end..].trim_start();
        if rest.is_empty() {
            break;
        }
    }
    if seconds > LONGEST_SECONDS {
        return Err(format!("{text} is longer than a run can take"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A number of any kind: `50000`, `50_000`, `50,000` or `50k`.
pub fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let plain = text.trim().replace(['_', ','], "");
    let written_out = match plain.strip_suffix(['k', 'K']) {
        Some(thousands) if is_whole(thousands) => format!("{thousands}000"),
        _ => match plain.strip_suffix('M') {
            Some(millions) if is_whole(millions) => format!("{millions}000000"),
            _ => plain,
        },
    };
    written_out.parse().map_err(|_| format!("expected a number, found `{text}`"))
}

fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
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
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!((number("10k"), number("2M"), number("1,500")), (Ok(10_000), Ok(2_000_000), Ok(1500)));
        assert!(number::<u32>("k").is_err());
        for wrong in ["", "5", "s", "-1s", "1 fortnight", "999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(span("2-8"), Ok((2, 8)));
        assert_eq!(span("50_000"), Ok((50_000, 50_000)));
    }
}
