//! Witnesses as pictures: SVG, DOT, and a report in one HTML file.
//!
//! Everything is drawn in Rust: the picture is there without a script, printed, and in a mail. The page adds a script for
//! comfort, loads nothing, and its content security policy forbids everything that is not in the file.
//!
//! What a history says reaches markup only through [`text::text`].

mod around;
mod dot;
mod html;
mod layout;
mod svg;
pub mod text;
mod verdicts;

pub use dot::dot;
pub use html::{Cell, LitmusTable, Page, VerdictRow, html};
pub use svg::{Use, svg};
pub use verdicts::verdict_rows;
