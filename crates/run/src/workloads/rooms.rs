//! `pred-skew`: a client asks which persons are in two rooms, and then moves a person to another room.
//!
//! A row is a person, with the room where they are and `w`, a number that no other write has. A transaction asks for
//! the people in some neighbouring rooms by condition, and then moves a person of its own session. Two that overlap
//! write different rows, so snapshot isolation lets both commit; if each moves a person into or out of the rooms that
//! the other looked at, no order explains both: write skew by predicate (G2), which no read of a single row shows.
//! With eight rooms of which two to four are looked at, about one overlapping pair in five does.

use databases::{StatementKind, Where};
use drive::random::Random;
use drive::simulate::Config;
use history::Datum;

use crate::attempt::{Attempt, Stop};
use crate::ids::UniqueIds;
use crate::relation::{Relation, integers};
use crate::workload::{Workload, WorkloadClient, random_of};

const ROOMS: u64 = 8;
/// How many neighbouring rooms are looked at, at least and at most.
const FEWEST: u64 = 2;
const MOST: u64 = 4;

/// The workload.
#[derive(Debug)]
pub struct Rooms {
    people: Relation,
    count: u32,
    read_only_share: f64,
    sessions: u32,
    seed: u64,
}

impl Rooms {
    /// The workload of a configuration: its keys are the people, and the share of transactions that only read those
    /// that move no person.
    pub fn new(config: &Config) -> Self {
        let mut people = Relation::new("people", &["room", "w"])
            .filled(config.keys, |person| vec![person % ROOMS as i64, 0])
            .with_key_limit(config.keys)
            .alone();
        people.is_by_condition = true;
        Self {
            people,
            count: config.keys,
            read_only_share: config.read_only_share,
            sessions: config.sessions,
            seed: config.seed,
        }
    }
}

impl Workload for Rooms {
    fn relations(&self) -> Vec<&Relation> {
        vec![&self.people]
    }

    fn needs(&self) -> Vec<StatementKind> {
        vec![StatementKind::Select]
    }

    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w> {
        Box::new(RoomsClient {
            workload: self,
            session,
            random: random_of(self.seed, session),
            ids: UniqueIds::of(session, self.sessions),
        })
    }
}

struct RoomsClient<'w> {
    workload: &'w Rooms,
    session: u32,
    random: Random,
    ids: UniqueIds,
}

impl WorkloadClient for RoomsClient<'_> {
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let people = &self.workload.people;
        let looked_at = self.neighbouring_rooms();
        attempt.select(people, &looked_at)?;
        if self.random.chance(self.workload.read_only_share) {
            return Ok(());
        }
        let room = self.random.below(ROOMS) as i64;
        let moved = integers(&[room, self.ids.take()]);
        attempt.write(people, self.person(), moved).map(drop)
    }
}

impl RoomsClient<'_> {
    fn neighbouring_rooms(&mut self) -> Where {
        let count = FEWEST + self.random.below(MOST - FEWEST + 1);
        let first = self.random.below(ROOMS - count + 1) as i64;
        Where::Between("room".to_owned(), Datum::Int(first), Datum::Int(first + count as i64 - 1))
    }

    /// A person of this session: every `sessions`-th person, or one shared with others if there are too few.
    fn person(&mut self) -> i64 {
        let (count, sessions) = (self.workload.count, self.workload.sessions);
        let own = count.saturating_sub(self.session % count).div_ceil(sessions.max(1));
        let place = self.random.below(u64::from(own.max(1))) as u32;
        i64::from((self.session + place * sessions) % count)
    }
}
