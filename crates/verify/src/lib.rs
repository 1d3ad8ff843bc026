//! A history and a level in, a verdict with its certificate out.
