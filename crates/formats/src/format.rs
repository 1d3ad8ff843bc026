//! The formats by name.

use std::fmt;
use std::str::FromStr;

/// A format of histories.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// isoscope's own JSON Lines.
    Native,
    /// isoscope's own notation for people.
    Notation,
    /// dbcop `history.bincode`.
    DbcopBincode,
    /// dbcop 0.2 JSON.
    DbcopJson,
    /// dbcop 0.2 text, `.hist`.
    DbcopHist,
    /// A folder of Cobra logs, or one of them.
    Cobra,
    /// A folder of Viper JSON logs, or one of them.
    Viper,
    /// The one operation a line of PolySI, IsoVista and Plume.
    Polysi,
    /// The text of AWDIT.
    Awdit,
    /// A Jepsen or Elle history as EDN.
    JepsenEdn,
    /// A Jepsen or Elle history as JSON.
    JepsenJson,
}

impl Format {
    /// All formats, in the order in which they are listed to users.
    pub const ALL: [Self; 11] = [
        Self::Native,
        Self::Notation,
        Self::DbcopBincode,
        Self::DbcopJson,
        Self::DbcopHist,
        Self::Cobra,
        Self::Viper,
        Self::Polysi,
        Self::Awdit,
        Self::JepsenEdn,
        Self::JepsenJson,
    ];

    /// The name by which users choose it.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// The name and the other names that are accepted.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Native => &["native", "jsonl", "isoscope"],
            Self::Notation => &["notation", "text"],
            Self::DbcopBincode => &["dbcop", "dbcop-bincode", "bincode"],
            Self::DbcopJson => &["dbcop-json"],
            Self::DbcopHist => &["dbcop-hist", "hist"],
            Self::Cobra => &["cobra", "veristrong"],
            Self::Viper => &["viper"],
            Self::Polysi => &["polysi", "plume", "isovista"],
            Self::Awdit => &["awdit"],
            Self::JepsenEdn => &["jepsen", "edn", "elle"],
            Self::JepsenJson => &["jepsen-json", "elle-json"],
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Native => "isoscope's own JSON Lines: everything the model holds",
            Self::Notation => "isoscope's notation for people, a transaction a line",
            Self::DbcopBincode => "dbcop history.bincode",
            Self::DbcopJson => "dbcop 0.2 JSON",
            Self::DbcopHist => "dbcop 0.2 text (.hist)",
            Self::Cobra => "a folder of Cobra logs (T*.log)",
            Self::Viper => "a folder of Viper JSON logs (J*.log)",
            Self::Polysi => "PolySI, IsoVista and Plume text: r(key,value,session,txn)",
            Self::Awdit => "AWDIT text: r KEY VALUE between rules",
            Self::JepsenEdn => "Jepsen and Elle histories as EDN",
            Self::JepsenJson => "Jepsen and Elle histories as JSON",
        }
    }

    /// Whether histories can be written in it.
    pub fn can_write(self) -> bool {
        matches!(
            self,
            Self::Native | Self::Notation | Self::DbcopBincode | Self::Cobra | Self::Polysi | Self::JepsenEdn
        )
    }

    /// Whether it is records of bytes rather than text.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Self::DbcopBincode | Self::Cobra)
    }

    /// Whether a history of several sessions is a folder in it.
    pub fn is_folder(self) -> bool {
        matches!(self, Self::Cobra | Self::Viper)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |format: &Self| format.names().contains(&text);
        Self::ALL.into_iter().find(named).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            format!("no format is called {text:?}; there are {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_format_and_no_other() {
        for format in Format::ALL {
            for name in format.names() {
                assert_eq!(name.parse(), Ok(format));
            }
        }
        assert!("nothing".parse::<Format>().unwrap_err().contains("polysi"));
    }
}
