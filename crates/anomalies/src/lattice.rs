//! Elle's lattice: which anomalies each consistency model forbids, as data.
//!
//! A model is the set of anomalies that it forbids: those that are listed for it, those of every model that it implies,
//! and every anomaly that implies one of them. Names and arrows are those of Elle's documentation; 36 models and 18
//! other names for some of them.

use std::collections::BTreeSet;

/// All models, by their canonical names.
pub const MODELS: &[&str] = &[
    "1SR",
    "PL-1",
    "PL-2",
    "PL-2+",
    "PL-2.99",
    "PL-2L",
    "PL-3",
    "PL-3U",
    "PL-CS",
    "PL-FCV",
    "PL-MSR",
    "PL-SI",
    "PL-SS",
    "PRAM",
    "causal",
    "causal-cerone",
    "linearizable",
    "monotonic-atomic-view",
    "monotonic-reads",
    "monotonic-writes",
    "parallel-snapshot-isolation",
    "prefix",
    "read-atomic",
    "read-your-writes",
    "sequential",
    "session-serializable",
    "strong-PL-1",
    "strong-PL-2",
    "strong-session-PL-1",
    "strong-session-PL-2",
    "strong-session-serializable",
    "strong-session-snapshot-isolation",
    "strong-snapshot-isolation",
    "update-atomic",
    "view-serializable",
    "writes-follow-reads",
];

/// Other names of models.
pub const ALIASES: &[(&str, &str)] = &[
    ("conflict-serializable", "PL-3"),
    ("consistent-view", "PL-2+"),
    ("cursor-stability", "PL-CS"),
    ("forward-consistent-view", "PL-FCV"),
    ("monotonic-snapshot-read", "PL-MSR"),
    ("monotonic-view", "PL-2L"),
    ("read-committed", "PL-2"),
    ("read-uncommitted", "PL-1"),
    ("repeatable-read", "PL-2.99"),
    ("serializable", "PL-3"),
    ("snapshot-isolation", "PL-SI"),
    ("strict-serializable", "PL-SS"),
    ("strong-read-committed", "strong-PL-2"),
    ("strong-read-uncommitted", "strong-PL-1"),
    ("strong-serializable", "PL-SS"),
    ("strong-session-read-committed", "strong-session-PL-2"),
    ("strong-session-read-uncommitted", "strong-session-PL-1"),
    ("update-serializable", "PL-3U"),
];

/// The names that answers use for models with numbers.
const FRIENDLY: &[(&str, &str)] = &[
    ("PL-1", "read-uncommitted"),
    ("PL-2", "read-committed"),
    ("PL-2+", "consistent-view"),
    ("PL-2.99", "repeatable-read"),
    ("PL-2L", "monotonic-view"),
    ("PL-3", "serializable"),
    ("PL-3U", "update-serializable"),
    ("PL-CS", "cursor-stability"),
    ("PL-FCV", "forward-consistent-view"),
    ("PL-MSR", "monotonic-snapshot-read"),
    ("PL-SI", "snapshot-isolation"),
    ("PL-SS", "strong-serializable"),
    ("strong-PL-1", "strong-read-uncommitted"),
    ("strong-PL-2", "strong-read-committed"),
    ("strong-session-PL-1", "strong-session-read-uncommitted"),
    ("strong-session-PL-2", "strong-session-read-committed"),
];

/// A history with the first anomaly has the others too.
const ANOMALY_IMPLIES: &[(&str, &[&str])] = &[
    ("G-nonadjacent", &["G-nonadjacent-process", "G2"]),
    ("G-nonadjacent-item", &["G-nonadjacent", "G-nonadjacent-item-process", "G2-item"]),
    (
        "G-nonadjacent-item-process",
        &["G-nonadjacent-item-realtime", "G-nonadjacent-process", "G2-item-process"],
    ),
    ("G-nonadjacent-item-realtime", &["G-nonadjacent-realtime", "G2-item-realtime"]),
    ("G-nonadjacent-process", &["G-nonadjacent-realtime", "G2-process"]),
    ("G-nonadjacent-realtime", &["G2-realtime"]),
    ("G-single", &["G-nonadjacent", "G-single-process", "GSIb"]),
    ("G-single-item", &["G-nonadjacent-item", "G-single", "G-single-item-process"]),
    ("G-single-item-process", &["G-nonadjacent-item-process", "G-single-item-realtime", "G-single-process"]),
    ("G-single-item-realtime", &["G-nonadjacent-item-realtime", "G-single-realtime"]),
    ("G-single-process", &["G-nonadjacent-process", "G-single-realtime"]),
    ("G-single-realtime", &["G-nonadjacent-realtime"]),
    ("G0", &["G0-process", "G1c"]),
    ("G0-process", &["G0-realtime", "G1c-process"]),
    ("G0-realtime", &["G1c-realtime"]),
    ("G1", &["G1-process"]),
    ("G1-process", &["G1-realtime"]),
    ("G1a", &["G1"]),
    ("G1b", &["G1"]),
    ("G1c", &["G1", "G1c-process"]),
    ("G1c-process", &["G1-process", "G1c-realtime"]),
    ("G1c-realtime", &["G1-realtime"]),
    ("G2", &["G2-process"]),
    ("G2-item", &["G2", "G2-item-process"]),
    ("G2-item-process", &["G2-item-realtime", "G2-process"]),
    ("G2-item-realtime", &["G2-realtime"]),
    ("G2-process", &["G2-realtime"]),
    ("GSIa", &["GSI"]),
    ("GSIb", &["GSI"]),
    ("dirty-update", &["G1a"]),
    ("future-read", &["G1c"]),
    ("incompatible-order", &["G1a"]),
    ("lost-update", &["G2-item", "write-skew"]),
    ("write-skew", &["G2"]),
];

/// Further arrows of severity: where the first was found, the others are not looked for in the same component.
const MORE_SEVERE: &[(&str, &[&str])] = &[
    ("G0", &["G1c"]),
    ("G0-process", &["G1c-process"]),
    ("G0-realtime", &["G1c-realtime"]),
    ("G1c", &["G-single", "G2-item"]),
    ("G1c-process", &["G-single-process", "G2-item-process"]),
    ("G1c-realtime", &["G-single-realtime", "G2-item-realtime"]),
    ("G2", &["G0-process"]),
    ("G2-process", &["G0-realtime"]),
];

/// A history that satisfies the first model satisfies the others too.
const MODEL_IMPLIES: &[(&str, &[&str])] = &[
    ("PL-2", &["PL-1"]),
    ("PL-2+", &["PL-2L", "PL-CS"]),
    ("PL-2.99", &["PL-CS", "monotonic-atomic-view"]),
    ("PL-2L", &["PL-2"]),
    ("PL-3", &["PL-2.99", "PL-3U", "PL-SI", "view-serializable"]),
    ("PL-3U", &["PL-FCV"]),
    ("PL-CS", &["PL-2"]),
    ("PL-FCV", &["PL-2+"]),
    ("PL-MSR", &["PL-2"]),
    ("PL-SI", &["PL-FCV", "PL-MSR", "monotonic-atomic-view", "parallel-snapshot-isolation", "prefix"]),
    (
        "PL-SS",
        &[
            "PL-3",
            "PL-SI",
            "linearizable",
            "session-serializable",
            "strong-session-serializable",
            "strong-snapshot-isolation",
        ],
    ),
    ("PRAM", &["monotonic-reads", "monotonic-writes", "read-your-writes"]),
    ("causal", &["PRAM", "writes-follow-reads"]),
    ("causal-cerone", &["read-atomic"]),
    ("linearizable", &["sequential"]),
    ("monotonic-atomic-view", &["PL-2"]),
    ("parallel-snapshot-isolation", &["causal-cerone", "update-atomic"]),
    ("prefix", &["causal-cerone"]),
    ("read-atomic", &["monotonic-atomic-view"]),
    ("sequential", &["causal"]),
    ("session-serializable", &["1SR"]),
    ("strong-PL-1", &["strong-session-PL-1"]),
    ("strong-PL-2", &["strong-PL-1", "strong-session-PL-2"]),
    ("strong-session-PL-1", &["PL-1"]),
    ("strong-session-PL-2", &["PL-2", "strong-session-PL-1"]),
    ("strong-session-serializable", &["PL-3", "strong-session-snapshot-isolation"]),
    ("strong-session-snapshot-isolation", &["PL-SI", "strong-session-PL-2"]),
    ("strong-snapshot-isolation", &["strong-PL-2", "strong-session-snapshot-isolation"]),
    ("update-atomic", &["read-atomic"]),
];

/// The anomalies that a model forbids beyond those of the models that it implies.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("PL-1", &["G0", "PL-1-cycle-exists", "cyclic-versions", "duplicate-elements"]),
    ("PL-2", &["G1", "PL-2-cycle-exists"]),
    ("PL-2+", &["G-single", "G1"]),
    ("PL-2.99", &["G1", "G2-item", "PL-2.99-cycle-exists", "lost-update"]),
    ("PL-2L", &["G-monotonic", "G1"]),
    ("PL-3", &["G1", "G2", "PL-3-cycle-exists", "internal", "predicate-read-miss"]),
    ("PL-3U", &["G-update", "G1"]),
    ("PL-CS", &["G-cursor", "G1", "lost-update"]),
    ("PL-FCV", &["G-SIb", "G1"]),
    ("PL-MSR", &["G-MSR", "G1"]),
    ("PL-SI", &["G-SI", "G-nonadjacent", "G1", "PL-SI-cycle-exists", "internal"]),
    ("PL-SS", &["G1", "G1c-realtime", "G2-realtime", "PL-SS-cycle-exists"]),
    ("causal-cerone", &["G1a", "internal"]),
    ("parallel-snapshot-isolation", &["G1a", "internal"]),
    ("prefix", &["G1a", "internal"]),
    ("read-atomic", &["G1a", "future-read", "internal"]),
    ("strong-PL-1", &["G0-realtime", "strong-PL-1-cycle-exists"]),
    ("strong-PL-2", &["G1c-realtime", "strong-PL-2-cycle-exists"]),
    ("strong-session-PL-1", &["G0-process", "strong-session-PL-1-cycle-exists"]),
    ("strong-session-PL-2", &["G1c-process", "strong-session-PL-2-cycle-exists"]),
    (
        "strong-session-serializable",
        &["G1-process", "G2-process", "strong-session-serializable-cycle-exists"],
    ),
    (
        "strong-session-snapshot-isolation",
        &[
            "G-nonadjacent-process",
            "G1-process",
            "internal",
            "strong-session-snapshot-isolation-cycle-exists",
        ],
    ),
    (
        "strong-snapshot-isolation",
        &["G-nonadjacent-realtime", "G1-realtime", "internal", "strong-snapshot-isolation-cycle-exists"],
    ),
    ("update-atomic", &["lost-update"]),
];

/// The order in which cycles are looked for.
pub(crate) const SEARCH_ORDER: &[&str] = &[
    "G-single-item",
    "G0",
    "G-nonadjacent-item",
    "G-single-item-process",
    "G1c",
    "G-nonadjacent-item-process",
    "G-single",
    "G-single-item-realtime",
    "G2-item",
    "G-nonadjacent",
    "G-nonadjacent-item-realtime",
    "G2",
    "G0-process",
    "G1c-process",
    "G-single-process",
    "G2-item-process",
    "G-nonadjacent-process",
    "G2-process",
    "G0-realtime",
    "G1c-realtime",
    "G-single-realtime",
    "G2-item-realtime",
    "G-nonadjacent-realtime",
    "G2-realtime",
];

/// A consistency model of Elle's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Model(usize);

/// A set of names of anomalies.
pub type Names = BTreeSet<&'static str>;

impl Model {
    /// The model of this name or alias, with or without a colon in front.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix(':').unwrap_or(name);
        let alias = ALIASES.iter().find(|&&(alias, _)| alias == name);
        let name = alias.map_or(name, |&(_, canonical)| canonical);
        MODELS.iter().position(|&known| known == name).map(Self)
    }

    /// All models.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..MODELS.len()).map(Self)
    }

    /// The canonical name.
    pub fn name(self) -> &'static str {
        MODELS[self.0]
    }

    /// The name that answers use.
    pub fn friendly_name(self) -> &'static str {
        let friendly = FRIENDLY.iter().find(|&&(name, _)| name == self.name());
        friendly.map_or(self.name(), |&(_, friendly)| friendly)
    }

    /// The models that a history of this one satisfies, itself included.
    pub fn implied(self) -> BTreeSet<Self> {
        let names = reach(self.name(), |name| arrows(MODEL_IMPLIES, name));
        names.into_iter().filter_map(Self::named).collect()
    }

    /// The anomalies that the model forbids.
    pub fn forbids(self) -> Names {
        let direct = self.implied().into_iter().flat_map(|model| arrows(FORBIDDEN, model.name())).copied();
        implying(direct)
    }
}

/// These anomalies and all that imply one of them.
pub fn implying(anomalies: impl Iterator<Item = &'static str>) -> Names {
    let before = |name: &'static str| {
        let rows = ANOMALY_IMPLIES.iter().filter(move |(_, later)| later.contains(&name));
        rows.map(|&(earlier, _)| earlier)
    };
    let mut found = Names::new();
    for anomaly in anomalies {
        let mut open = vec![anomaly];
        while let Some(name) = open.pop() {
            if found.insert(name) {
                open.extend(before(name));
            }
        }
    }
    found
}

/// An anomaly by its name in the lattice, with or without a colon in front.
pub fn anomaly_named(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix(':').unwrap_or(name);
    let of_table = |table: &'static [(&'static str, &'static [&'static str])]| {
        table.iter().flat_map(|&(name, others)| std::iter::once(name).chain(others.iter().copied()))
    };
    let forbidden = FORBIDDEN.iter().flat_map(|(_, names)| names.iter().copied());
    of_table(ANOMALY_IMPLIES).chain(forbidden).find(|&known| known == name)
}

/// What follows from an anomaly, and what is less severe.
pub(crate) fn less_severe(anomaly: &'static str) -> Names {
    reach(anomaly, |name| arrows(ANOMALY_IMPLIES, name).iter().chain(arrows(MORE_SEVERE, name)))
}

/// The models that a history with these anomalies, or that violates these models, cannot satisfy, by friendly names: the
/// weakest ones, and the others.
pub fn boundary<'n>(
    anomalies: impl Iterator<Item = &'n str> + Clone,
    violated: &[Model],
) -> (Vec<&'static str>, Vec<&'static str>) {
    let is_broken = |model: &Model| {
        let (forbids, implied) = (model.forbids(), model.implied());
        violated.iter().any(|other| implied.contains(other))
            || anomalies.clone().any(|anomaly| forbids.contains(anomaly))
    };
    let broken: BTreeSet<Model> = Model::all().filter(is_broken).collect();
    let is_weakest =
        |model: &Model| model.implied().iter().all(|other| other == model || !broken.contains(other));
    let (weakest, others): (Vec<Model>, Vec<Model>) = broken.iter().partition(|model| is_weakest(model));
    let names = |models: Vec<Model>| {
        let names: BTreeSet<&str> = models.into_iter().map(Model::friendly_name).collect();
        names.into_iter().collect()
    };
    (names(weakest), names(others))
}

fn arrows(table: &'static [(&'static str, &'static [&'static str])], from: &str) -> &'static [&'static str] {
    table.iter().find(|&&(name, _)| name == from).map_or(&[], |&(_, to)| to)
}

fn reach<I: IntoIterator<Item = &'static &'static str>>(
    from: &'static str,
    arrows: impl Fn(&'static str) -> I,
) -> Names {
    let mut found = Names::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(arrows(name).into_iter().copied());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_an_arrow_is_a_model() {
        for (from, to) in MODEL_IMPLIES {
            assert!(Model::named(from).is_some(), "{from}");
            to.iter().for_each(|name| assert!(Model::named(name).is_some(), "{name}"));
        }
        assert!(FORBIDDEN.iter().all(|(name, _)| Model::named(name).is_some()));
        assert_eq!(MODELS.len() + ALIASES.len(), 54);
        assert!(ALIASES.iter().all(|(alias, _)| Model::named(alias).is_some()));
    }

    #[test]
    fn repeatable_read_is_adyas() {
        let forbidden = Model::named("repeatable-read").expect("a model").forbids();
        assert!(forbidden.contains("G2-item") && forbidden.contains("G-single-item"));
        assert!(!forbidden.contains("G2") && !forbidden.contains("G2-item-realtime"));
        assert_eq!(boundary(["G2-item"].into_iter(), &[]).0, ["repeatable-read"]);
    }
}
