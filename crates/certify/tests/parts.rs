//! What each part of a level's text makes visible along an order, against its relation, pair by pair.
//!
//! The checker has a technique of its own for each kind of part (`text/judge.rs`): here a relation is a table of all
//! pairs of transactions, and a read has a hit if a writer of its key stands after the source and is related to the
//! reader. Orders keep what the plan says, and nothing else; transactions of unknown outcome may be left out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use isoscope_certify::text::facts::{Facts, INITIAL};
use isoscope_certify::text::judge::{Judge, Witness};
use isoscope_certify::text::plan::{Part, Plan};
use spec::{Base, Rel, Spec};

/// What an order contains and what is visible, each for one kind of part or more.
const TEXTS: [(&str, &str); 36] = [
    ("session", "session+"),
    ("session | reads_from", "session"),
    ("session | reads_from", "reads_from"),
    ("session | reads_from", "reads_from ; session"),
    ("session | reads_from", "session ; reads_from"),
    ("session | reads_from", "reads_from ; session? ; reads_from"),
    ("session | reads_from", "conflict & before"),
    ("session | reads_from", "before"),
    ("session | reads_from", "before :> updates"),
    ("session | reads_from", "before? ; session"),
    ("session | reads_from", "before? ; reads_from"),
    ("session | reads_from", "before? ; (conflict & before)"),
    ("session | reads_from", "before? ; (session | reads_from | (conflict & before))"),
    ("session | reads_from", "session+"),
    ("session | reads_from", "(session | reads_from)+"),
    ("session | reads_from", "(session | reads_from | (conflict & before))+"),
    ("session | reads_from", "reads_from+"),
    ("session | reads_from", "(conflict & before)+"),
    ("reads_from", "(reads_from | (before & conflict))+"),
    ("reads_from", "session"),
    ("reads_from", "reads_from ; session"),
    ("reads_from", "session ; reads_from"),
    ("reads_from", "reads_from ; (session? ; reads_from)"),
    ("reads_from", "before? ; (session | reads_from)"),
    ("session", "session | reads_from"),
    ("session", "reads_from ; session? ; reads_from"),
    ("session | reads_from | real_time", "(session | reads_from | real_time)+"),
    ("reads_from | real_time", "(reads_from | real_time)+"),
    ("reads_from | real_time", "(reads_from | real_time | (conflict & before))+"),
    ("real_time", "real_time+"),
    ("session | reads_from", "conflict"),
    ("session | reads_from", "(session ; ~reads_from) & before"),
    ("none", "(session | reads_from)+"),
    ("session | reads_from | real_time", "real_time ; session"),
    ("session | reads_from", "conflict ; conflict"),
    ("session | reads_from", "conflict ; session"),
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Transactions that read some version so far of a few keys, and write a few; each with the times of its begin and end.
fn facts(random: &mut Random, (txns, sessions, keys): (u64, u64, u64)) -> Facts {
    let mut versions: Vec<Vec<u64>> = vec![vec![0]; keys as usize];
    let mut text = "{\"isoscope\":1}\n{\"default\":0}\n".to_owned();
    let mut free_from = vec![0; sessions as usize];
    for txn in 1..=txns {
        let session = random.below(sessions);
        let mut ops = Vec::new();
        for _ in 0..random.below(4) {
            let key = random.below(keys);
            let known = &versions[key as usize];
            let value = known[random.below(known.len() as u64) as usize];
            ops.push(format!(r#"["r",{key},{value}]"#));
        }
        for key in (0..keys).filter(|_| random.percent(40)) {
            versions[key as usize].push(txn);
            ops.push(format!(r#"["w",{key},{txn}]"#));
        }
        let begin = free_from[session as usize].max(10 * txn - random.below(25).min(10 * txn));
        let end = begin.max(10 * txn) + 1;
        free_from[session as usize] = end + 1;
        let outcome = if random.percent(15) { "u" } else { "c" };
        let _ = writeln!(
            text,
            r#"{{"s":{session},"ops":[{}],"o":"{outcome}","t":[{begin},null,null,{end}]}}"#,
            ops.join(",")
        );
    }
    let read = formats::read_bytes("h", text.as_bytes(), &formats::ReadOptions::default());
    let mut facts = Facts::of(&read.expect("a history").history).expect("facts");
    facts.set_clock_skew(if random.percent(50) { 0 } else { 7 });
    facts
}

/// Some order that keeps what the plan says, without some transactions of unknown outcome that no other read from.
fn witness(facts: &Facts, plan: &Plan, random: &mut Random) -> Witness {
    let source: Vec<u32> =
        (0..facts.reads().len()).map(|read| facts.only_source(read).expect("one")).collect();
    let count = facts.node_count() as u32;
    let is_out: Vec<bool> = (0..count)
        .map(|node| facts.is_unknown(node) && !source.contains(&node) && random.percent(60))
        .collect();
    let precedes = |first: u32, second: u32| {
        plan.session.is_all() && facts.is_session_before(first, second)
            || plan.reads_from.is_all() && source[facts.reads_of(second)].contains(&first)
            || plan.real_time.is_all() && facts.is_real_time_before(first, second)
    };
    let mut left: Vec<u32> = (1..count).filter(|&node| !is_out[node as usize]).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let is_ready = |&&node: &&u32| !left.iter().any(|&other| precedes(other, node));
        let ready: Vec<u32> = left.iter().filter(is_ready).copied().collect();
        let node = ready[random.below(ready.len() as u64) as usize];
        left.retain(|&other| other != node);
        order.push(node);
    }
    Witness::new(facts, order, source)
}

/// For each pair of places in the order whether it is related.
type Pairs = Vec<Vec<bool>>;

fn pairs(count: usize, is_related: impl Fn(usize, usize) -> bool) -> Pairs {
    (0..count).map(|from| (0..count).map(|to| is_related(from, to)).collect()).collect()
}

fn joined(left: &Pairs, right: &Pairs) -> Pairs {
    let mut all = pairs(left.len(), |_, _| false);
    for (from, row) in left.iter().enumerate() {
        for middle in (0..row.len()).filter(|&middle| row[middle]) {
            (0..row.len()).for_each(|to| all[from][to] |= right[middle][to]);
        }
    }
    all
}

fn closed(inner: Pairs) -> Pairs {
    let mut all = inner;
    for middle in 0..all.len() {
        let row = all[middle].clone();
        for from in (0..all.len()).filter(|&from| from != middle) {
            if all[from][middle] {
                (0..row.len()).for_each(|to| all[from][to] |= row[to]);
            }
        }
    }
    all
}

fn base(facts: &Facts, witness: &Witness, base: Base, first: u32, second: u32) -> bool {
    let is_update = |node: u32| node == INITIAL || !facts.written(node).is_empty();
    match base {
        Base::Before => witness.position[first as usize] < witness.position[second as usize],
        Base::Session => facts.is_session_before(first, second),
        Base::ReadsFrom => witness.source[facts.reads_of(second)].contains(&first),
        Base::RealTime => facts.is_real_time_before(first, second),
        Base::Conflict if first == INITIAL || second == INITIAL => {
            first != second && is_update(first) && is_update(second)
        }
        Base::Conflict => {
            first != second && facts.written(first).iter().any(|&key| facts.writes(second, key))
        }
        _ => panic!("{base:?} is in no text"),
    }
}

fn related(facts: &Facts, witness: &Witness, rel: &Rel) -> Pairs {
    let (count, node) = (witness.order.len(), |place: usize| witness.order[place]);
    let again = |rel: &Rel| related(facts, witness, rel);
    match rel {
        Rel::Base(of) => pairs(count, |from, to| base(facts, witness, *of, node(from), node(to))),
        Rel::Identity(_) => pairs(count, |from, to| from == to),
        Rel::Union(left, right) => {
            let (left, right) = (again(left), again(right));
            pairs(count, |from, to| left[from][to] || right[from][to])
        }
        Rel::Inter(left, right) => {
            let (left, right) = (again(left), again(right));
            pairs(count, |from, to| left[from][to] && right[from][to])
        }
        Rel::Join(left, right) => joined(&again(left), &again(right)),
        Rel::Closure(inner) => closed(again(inner)),
        Rel::Inverse(inner) => {
            let inner = again(inner);
            pairs(count, |from, to| inner[to][from])
        }
        // The only product in the texts is that of all transactions and those that write.
        Rel::Product(..) => pairs(count, |_, to| to == 0 || !facts.written(node(to)).is_empty()),
        _ => panic!("{rel:?} is in no text"),
    }
}

/// (reader, key) where a related writer stands after the source of a read.
fn expected_hits(facts: &Facts, witness: &Witness, rel: &Rel) -> BTreeSet<(u32, u32)> {
    let related = related(facts, witness, rel);
    let position = |node: u32| witness.position[node as usize] as usize;
    let mut hits = BTreeSet::new();
    for &reader in &witness.order[1..] {
        for read in facts.reads_of(reader) {
            let (key, source) = (facts.reads()[read].key, position(witness.source[read]));
            let mut rivals = facts.writers(key).iter().copied().filter(|&rival| witness.has(rival));
            if rivals.any(|rival| position(rival) > source && related[position(rival)][position(reader)]) {
                hits.insert((reader, key));
            }
        }
    }
    hits
}

/// Compares all texts on one random history, and gives how many hits there are by each.
fn compare(seed: u64, size: (u64, u64, u64), texts: &[(&str, &str)]) -> Vec<usize> {
    let random = &mut Random(seed.wrapping_mul(0x9E37_79B9) | 1);
    let facts = facts(random, size);
    let mut counts = Vec::new();
    for (order, visible) in texts {
        let text = format!("include \"std/relations.iso\"\nlevel own : order = {order}, visible = {visible}");
        let level = Spec::parse("own", &text).unwrap().levels.remove(0);
        let plan = Plan::of(&level).unwrap();
        let witness = witness(&facts, &plan, random);
        let found = Judge::new(&facts, &plan, &|| false).hits(&witness).unwrap();
        let found = found.iter().map(|hit| {
            let read = hit.read as usize;
            let (rival, source) = (hit.rival as usize, witness.source[read] as usize);
            assert!(facts.writes(hit.rival, facts.reads()[read].key), "seed {seed}: {visible}");
            assert!(witness.position[rival] > witness.position[source], "seed {seed}: {visible}");
            (facts.reader(read), facts.reads()[read].key)
        });
        let found: BTreeSet<(u32, u32)> = found.collect();
        let expected = expected_hits(&facts, &witness, level.visible.as_ref().unwrap());
        assert_eq!(found, expected, "seed {seed}: {visible} along {:?}", witness.order);
        counts.push(found.len());
    }
    counts
}

#[test]
fn every_part_shows_what_its_relation_says() {
    let mut total = [0; TEXTS.len()];
    for seed in 1..150 {
        let random = &mut Random(seed);
        let size = (2 + random.below(14), 1 + random.below(4), 1 + random.below(3));
        compare(seed, size, &TEXTS).into_iter().zip(&mut total).for_each(|(count, total)| *total += count);
    }
    for ((_, visible), total) in TEXTS.iter().zip(total) {
        assert!(total > 0, "{visible} has no hit");
    }
}

/// Many sessions, writers and reads: clocks are computed in blocks, and only the last writer of a session is asked.
#[test]
fn large_orders_show_the_same() {
    let texts: Vec<(&str, &str)> = TEXTS[12..18].iter().chain(&TEXTS[25..29]).copied().collect();
    for (seed, size) in [(1, (150, 90, 1)), (2, (150, 3, 2)), (3, (220, 70, 2)), (4, (130, 130, 3))] {
        compare(seed, size, &texts);
    }
}

/// Many reads of the last version and a few of earlier ones, as a database makes them: writers are looked up for the keys of
/// these few alone.
#[test]
fn a_few_stale_reads_among_many_are_found() {
    let texts = TEXTS[..5].iter().chain(&TEXTS[12..15]);
    let mut total = 0;
    for seed in 1..60 {
        let random = &mut Random(seed * 0x9E37_79B9);
        let mut versions: Vec<Vec<u64>> = vec![vec![0]; 40];
        let mut text = "{\"isoscope\":1}\n{\"default\":0}\n".to_owned();
        for txn in 1..=60 {
            let mut ops = Vec::new();
            for _ in 0..12 {
                let key = random.below(40);
                let known = &versions[key as usize];
                let back = if random.percent(1) { random.below(known.len() as u64) } else { 0 };
                ops.push(format!(r#"["r",{key},{}]"#, known[known.len() - 1 - back as usize]));
            }
            for key in [random.below(40), random.below(40)] {
                versions[key as usize].push(100 * txn + key);
                ops.push(format!(r#"["w",{key},{}]"#, 100 * txn + key));
            }
            let session = random.below(4);
            let _ = writeln!(
                text,
                r#"{{"s":{session},"ops":[{}],"o":"c","t":[{txn},null,null,{txn}]}}"#,
                ops.join(",")
            );
        }
        let read = formats::read_bytes("h", text.as_bytes(), &formats::ReadOptions::default());
        let facts = Facts::of(&read.expect("a history").history).expect("facts");
        let source = (0..facts.reads().len()).map(|read| facts.only_source(read).expect("one")).collect();
        let mut order: Vec<u32> = (1..facts.node_count() as u32).collect();
        order.sort_by_key(|&node| facts.span(node).begin);
        let witness = Witness::new(&facts, order, source);
        for (order, visible) in texts.clone() {
            let text = format!("level own : order = {order}, visible = {visible}");
            let level = Spec::parse("own", &text).unwrap().levels.remove(0);
            let plan = Plan::of(&level).unwrap();
            let found = Judge::new(&facts, &plan, &|| false).hits(&witness).unwrap();
            let place = |read: usize| (facts.reader(read), facts.reads()[read].key);
            let found: BTreeSet<(u32, u32)> = found.iter().map(|hit| place(hit.read as usize)).collect();
            let expected = expected_hits(&facts, &witness, level.visible.as_ref().unwrap());
            assert_eq!(found, expected, "seed {seed}: {visible}");
            total += found.len();
        }
    }
    assert!(total > 100, "{total} hits");
}

/// The texts that have a technique of their own are not evaluated as matrices.
#[test]
fn a_text_is_evaluated_by_the_technique_for_its_kind() {
    for (place, (order, visible)) in TEXTS.iter().enumerate() {
        let text = format!("include \"std/relations.iso\"\nlevel own : order = {order}, visible = {visible}");
        let plan = Plan::of(&Spec::parse("own", &text).unwrap().levels[0]).unwrap();
        let is_matrix = plan.parts.iter().any(|part| matches!(part, Part::Matrix(_)));
        let inside_of_no_order = *order == "reads_from" && *visible == "session ; reads_from";
        assert_eq!(is_matrix, place >= TEXTS.len() - 6 || inside_of_no_order, "{visible}");
    }
}

/// A level implies another one only if it shows at least as much along each of its orders.
#[test]
fn a_plan_that_implies_another_has_all_of_its_hits() {
    const WIDER: [&str; 6] = [
        "earlier",
        "earlier | reads_from",
        "real_time",
        "session | (reads_from ; session)",
        "before? ; (session | real_time)",
        "session | (conflict & before)",
    ];
    let orders = ["session | reads_from", "session | reads_from | real_time", "reads_from"];
    let wider = orders.iter().flat_map(|order| WIDER.map(|visible| (*order, visible)));
    let texts: Vec<(&str, &str)> = TEXTS[..TEXTS.len() - 1].iter().copied().chain(wider).collect();
    let level = |&(order, visible): &(&str, &str)| {
        let text = format!("include \"std/relations.iso\"\nlevel own : order = {order}, visible = {visible}");
        Spec::parse("own", &text).unwrap().levels.remove(0)
    };
    let plans: Vec<Plan> = texts.iter().map(|text| Plan::of(&level(text)).unwrap()).collect();
    let mut implied = BTreeSet::new();
    for (strong, known) in plans.iter().enumerate() {
        let weaker = plans.iter().enumerate().filter(|(_, weak)| known.implies(weak));
        implied.extend(weaker.map(|(weak, _)| (strong, weak)));
    }
    for seed in 1..40 {
        let random = &mut Random(seed);
        let facts = facts(random, (12, 3, 2));
        for (strong, plan) in plans.iter().enumerate() {
            let witness = witness(&facts, plan, random);
            let hits = |plan: &Plan| -> BTreeSet<(u32, u32)> {
                let hits = Judge::new(&facts, plan, &|| false).hits(&witness).unwrap();
                let place = |read: usize| (facts.reader(read), facts.reads()[read].key);
                hits.iter().map(|hit| place(hit.read as usize)).collect()
            };
            let all = hits(plan);
            for (_, weak) in implied.range((strong, 0)..(strong + 1, 0)) {
                assert!(hits(&plans[*weak]).is_subset(&all), "{:?}, {:?}", texts[strong], texts[*weak]);
            }
        }
    }
    let place = |text: (&str, &str)| texts.iter().position(|&known| known == text).unwrap();
    let ordered = |visible| place(("session | reads_from", visible));
    for (strong, weak) in [
        ("(session | reads_from)+", "session"),
        ("(session | reads_from)+", "reads_from"),
        ("(session | reads_from)+", "earlier"),
        ("(session | reads_from)+", "reads_from ; session"),
        ("(session | reads_from)+", "session ; reads_from"),
        ("(session | reads_from)+", "reads_from ; session? ; reads_from"),
        ("(session | reads_from)+", "session+"),
        ("(session | reads_from | (conflict & before))+", "conflict & before"),
        ("reads_from", "earlier"),
        ("before", "(session | reads_from | (conflict & before))+"),
        ("before", "before :> updates"),
        ("before", "session | (reads_from ; session)"),
    ] {
        assert!(implied.contains(&(ordered(strong), ordered(weak))), "{strong}, {weak}");
    }
    let strict = |visible| place(("session | reads_from | real_time", visible));
    assert!(implied.contains(&(strict("(session | reads_from | real_time)+"), ordered("session"))));
}
