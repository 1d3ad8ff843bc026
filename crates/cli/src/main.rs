//! The isoscope command.
fn main() {}
