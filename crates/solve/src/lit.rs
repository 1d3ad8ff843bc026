//! Literals: a variable or its negation, in one number.

use std::fmt;
use std::ops::Not;

/// A variable (number / 2) or its negation (odd numbers).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(pub u32);

impl Lit {
    /// No literal, where one may be absent.
    pub const NONE: Self = Self(u32::MAX);

    /// The positive literal of a variable.
    pub fn positive(var: u32) -> Self {
        Self(var * 2)
    }

    /// Its variable.
    #[inline]
    pub fn var(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Its number, as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether it is the negation of its variable.
    #[inline]
    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether there is a literal at all.
    #[inline]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl Not for Lit {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl fmt::Debug for Lit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", if self.is_negative() { "-" } else { "+" }, self.var())
    }
}
