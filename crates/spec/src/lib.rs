//! The language of isolation levels, the standard levels as text, and their reference semantics.
