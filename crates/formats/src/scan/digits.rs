//! Decimal numbers, eight digits at a time.
//!
//! Nearly all numbers of a recording have at most eight digits. So eight bytes are taken as one word: a comparison of
//! all bytes at once finds where the digits end, a shift drops what follows them, and three multiplications make the
//! number (D. Lemire, "Quickly parsing eight digits", 2018). A loop over single digits has a branch at the end of
//! every number, which the processor predicts badly.

/// Each byte is `0`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The most digits that always fit in 64 bits.
const MOST_DIGITS: usize = 19;

/// The decimal digits at the beginning of a text: their number, and how many they are. `None` if there is no digit,
/// if there are more than 19, or if fewer than eight bytes come after the last eight digits that were read: then
/// [`decimal`] reads them one by one.
#[inline(always)]
pub(crate) fn small_decimal(text: &[u8]) -> Option<(u64, usize)> {
    match up_to_eight(text)? {
        (_, 0) => None,
        (number, 8) => longer(text, number),
        short => Some(short),
    }
}

/// The decimal digits at an index, which moves behind them; `None` if there are none or the number is too large.
#[inline]
pub(crate) fn decimal(text: &[u8], index: &mut usize) -> Option<u64> {
    if let Some((number, length)) = small_decimal(&text[*index..]) {
        *index += length;
        return Some(number);
    }
    one_by_one(text, index)
}

/// How many bytes at the beginning of a text are digits or spaces.
#[inline]
pub(crate) fn digits_and_blanks(text: &[u8]) -> usize {
    const SPACES: u64 = 0x2020_2020_2020_2020;
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    let mut length = 0;
    while let Some(&eight) = text[length..].first_chunk() {
        let bytes = u64::from_le_bytes(eight);
        let (digits, spaces) = (bytes ^ ZEROS, bytes ^ SPACES);
        // The highest bit of each byte that is no digit, and of each that is no space. A carry comes from a byte that is
        // neither, and only the first of those counts.
        let no_digit = digits.wrapping_add(0x7676_7676_7676_7676) | digits;
        let no_space = spaces.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) | spaces;
        let is_other = no_digit & no_space & HIGHEST;
        if is_other != 0 {
            return length + is_other.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = text[length..].iter().take_while(|&&byte| byte.is_ascii_digit() || byte == b' ');
    length + rest.count()
}

/// The number that the first digits make, at most eight of them, and how many they are; `None` if there are fewer than
/// eight bytes.
#[inline]
fn up_to_eight(text: &[u8]) -> Option<(u64, usize)> {
    let digits = u64::from_le_bytes(*text.first_chunk()?) ^ ZEROS;
    // The highest bit of each byte that is greater than 9.
    let is_other = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let length = is_other.trailing_zeros() as usize / 8;
    if length == 0 {
        return Some((0, 0));
    }
    // The last digit goes to the last byte; what comes before the first is zero.
    Some((eight(digits << (64 - 8 * length)), length))
}

/// The number of eight digits, the first in the lowest byte.
#[inline]
fn eight(digits: u64) -> u64 {
    const EVERY_FOURTH: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first_and_third = (pairs & EVERY_FOURTH).wrapping_mul(100 + (1_000_000 << 32));
    let second_and_fourth = (pairs >> 16 & EVERY_FOURTH).wrapping_mul(1 + (10_000 << 32));
    first_and_third.wrapping_add(second_and_fourth) >> 32
}

/// The same for a number whose first eight digits are known and may not be all.
#[inline(never)]
fn longer(text: &[u8], first: u64) -> Option<(u64, usize)> {
    let (mut number, mut length) = (first, 8);
    loop {
        let (next, count) = up_to_eight(&text[length..])?;
        length += count;
        if length > MOST_DIGITS {
            return None;
        }
        number = number * 10u64.pow(count as u32) + next;
        if count < 8 {
            return Some((number, length));
        }
    }
}

#[cold]
fn one_by_one(text: &[u8], index: &mut usize) -> Option<u64> {
    let start = *index;
    let mut number = 0u64;
    while let Some(&byte) = text.get(*index)
        && byte.is_ascii_digit()
    {
        number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        *index += 1;
    }
    (*index > start).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_blanks_end_at_any_other_byte() {
        for length in 0..40 {
            let start: String = "10 2 333 4567 89012 ".chars().cycle().take(length).collect();
            for after in [
                "",
                "]",
                "]        ",
                "/         ",
                ":         ",
                "!\u{7f}\u{e9}      ",
                "-1 2 3 4 5",
                "\t1 2 3 4 ",
            ] {
                assert_eq!(digits_and_blanks(format!("{start}{after}").as_bytes()), length, "{start}{after}");
            }
        }
    }

    #[test]
    fn numbers_of_any_length_are_read_whatever_follows() {
        let mut digits = String::new();
        for length in 0..=22 {
            for after in ["", ",", "],[12345678901", "/:\u{e9}99999999999", "\u{0}        "] {
                let text = format!("{digits}{after}");
                let mut index = 0;
                let number = decimal(text.as_bytes(), &mut index);
                assert_eq!(number, digits.parse().ok(), "{text}");
                assert!(number.is_none() || index == length, "{text}");
                if let Some((number, count)) = small_decimal(text.as_bytes()) {
                    assert_eq!((Ok(number), count), (digits.parse(), length), "{text}");
                }
            }
            digits.push((b'1' + (length * 7 % 9) as u8) as char);
        }
        assert_eq!(decimal(b"18446744073709551615,", &mut 0), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616,", &mut 0), None);
        assert_eq!(small_decimal(b"00000007        "), Some((7, 8)));
    }
}
