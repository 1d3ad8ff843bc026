//! Markdown tables that are also readable in a terminal, printed row by row as the figures come.

/// Prints the head of a table.
pub fn head(columns: &[&str]) {
    row(&columns.iter().map(ToString::to_string).collect::<Vec<_>>());
    println!("|{}", "---|".repeat(columns.len()));
}

/// Prints a row.
pub fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

/// Milliseconds, with as many digits as mean something.
pub fn ms(milliseconds: f64) -> String {
    match milliseconds {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1000.0),
    }
}

/// Megabytes.
pub fn mb(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
