//! `twitter`: users who tweet, follow and read each other, some much more than others.
//!
//! After the well-known clone: tweet, show a user's tweets, read the timeline, follow or unfollow. Users are picked by
//! a Zipf distribution. Tweet number `n` of user `u` and the edge from `u` to `v` have keys made of both numbers, so
//! that "the last tweets of a user" and "whom a user follows" are ranges of keys.

use databases::StatementKind;
use drive::random::Random;
use drive::simulate::Config;
use drive::zipf::Zipf;
use history::{Bound, Datum};

use crate::attempt::{Attempt, Stop};
use crate::ids::UniqueIds;
use crate::relation::{Relation, integer, integers};
use crate::workload::{Workload, WorkloadClient, random_of};

const TWEETS_OF_A_USER: i64 = 1_000_000;
/// A timeline shows the newest tweet of so many of those whom the user follows.
const TIMELINE: usize = 10;
const SHOWN_TWEETS: i64 = 5;
/// Each user follows so many others at first.
const FIRST_FOLLOWS: i64 = 3;
const USER_SKEW: f64 = 0.9;

/// The workload.
#[derive(Debug)]
pub struct Twitter {
    /// `tweets, following, followers, w`
    users: Relation,
    /// `text, w`
    tweets: Relation,
    /// `w`
    follows: Relation,
    user_count: i64,
    sessions: u32,
    seed: u64,
}

impl Twitter {
    /// The workload of a configuration: its keys are the users.
    pub fn new(config: &Config) -> Self {
        let count = i64::from(config.keys.max(2));
        let first_follows = FIRST_FOLLOWS.min(count - 1);
        let mut follows = Relation::new("follows", &["w"]);
        for user in 0..count {
            let mut others: Vec<i64> = (1..=first_follows).map(|step| (user + step) % count).collect();
            others.sort_unstable();
            let edge = |other: i64| (Datum::Int(user * count + other), integers(&[0]));
            follows.table.rows.extend(others.into_iter().map(edge));
        }
        let users = Relation::new("users", &["tweets", "following", "followers", "w"])
            .filled(count as u32, |_| vec![0, first_follows, first_follows, 0]);
        Self {
            users,
            tweets: Relation::new("tweets", &["body", "w"]),
            follows,
            user_count: count,
            sessions: config.sessions,
            seed: config.seed,
        }
    }
}

impl Workload for Twitter {
    fn relations(&self) -> Vec<&Relation> {
        vec![&self.users, &self.tweets, &self.follows]
    }

    fn needs(&self) -> Vec<StatementKind> {
        vec![StatementKind::Insert, StatementKind::Delete, StatementKind::Range]
    }

    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w> {
        Box::new(TwitterClient {
            twitter: self,
            user_ranks: Zipf::new(self.user_count as u64, USER_SKEW),
            random: random_of(self.seed, session),
            ids: UniqueIds::of(session, self.sessions),
        })
    }
}

struct TwitterClient<'w> {
    twitter: &'w Twitter,
    user_ranks: Zipf,
    random: Random,
    ids: UniqueIds,
}

impl WorkloadClient for TwitterClient<'_> {
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let user = self.user();
        match self.random.below(100) {
            0..30 => self.tweet(attempt, user),
            30..50 => self.show(attempt, user),
            50..80 => self.timeline(attempt, user),
            _ => self.follow_or_unfollow(attempt, user),
        }
    }
}

impl TwitterClient<'_> {
    fn user(&mut self) -> i64 {
        self.user_ranks.sample(&mut self.random) as i64
    }

    fn tweet(&mut self, attempt: &mut Attempt<'_>, user: i64) -> Result<(), Stop> {
        let twitter = self.twitter;
        let [tweets, following, followers, _] = attempt.row(&twitter.users, user)?;
        let body = self.random.below(1 << 32) as i64;
        let tweet = integers(&[body, self.ids.take()]);
        attempt.insert(&twitter.tweets, user * TWEETS_OF_A_USER + tweets, tweet)?;
        let row = integers(&[tweets + 1, following, followers, self.ids.take()]);
        attempt.write(&twitter.users, user, row).map(drop)
    }

    fn show(&mut self, attempt: &mut Attempt<'_>, user: i64) -> Result<(), Stop> {
        let twitter = self.twitter;
        let [tweets, ..]: [i64; 4] = attempt.row(&twitter.users, user)?;
        let first = user * TWEETS_OF_A_USER + (tweets - SHOWN_TWEETS).max(0);
        let end = user * TWEETS_OF_A_USER + tweets;
        let (from, to) = (Bound::Included(first.into()), Bound::Excluded(end.into()));
        attempt.rows(&twitter.tweets, from, to).map(drop)
    }

    fn timeline(&mut self, attempt: &mut Attempt<'_>, user: i64) -> Result<(), Stop> {
        let twitter = self.twitter;
        let first = user * twitter.user_count;
        let (from, to) =
            (Bound::Included(first.into()), Bound::Excluded((first + twitter.user_count).into()));
        let followed = attempt.rows(&twitter.follows, from, to)?;
        for (edge, _) in followed.iter().take(TIMELINE) {
            let other = integer(edge) - first;
            let [tweets, ..]: [i64; 4] = attempt.row(&twitter.users, other)?;
            if tweets > 0 {
                attempt.read(&twitter.tweets, other * TWEETS_OF_A_USER + tweets - 1)?;
            }
        }
        Ok(())
    }

    fn follow_or_unfollow(&mut self, attempt: &mut Attempt<'_>, user: i64) -> Result<(), Stop> {
        let twitter = self.twitter;
        let other = self.user();
        if other == user {
            return attempt.read(&twitter.users, user).map(drop);
        }
        let edge = user * twitter.user_count + other;
        let change = match attempt.read(&twitter.follows, edge)? {
            Some(_) => attempt.delete(&twitter.follows, edge).map(|_| -1)?,
            None => attempt.insert(&twitter.follows, edge, vec![self.ids.datum()]).map(|()| 1)?,
        };
        let [tweets, following, followers, _] = attempt.row(&twitter.users, user)?;
        let row = integers(&[tweets, following + change, followers, self.ids.take()]);
        attempt.write(&twitter.users, user, row)?;
        let [tweets, following, followers, _] = attempt.row(&twitter.users, other)?;
        let row = integers(&[tweets, following, followers + change, self.ids.take()]);
        attempt.write(&twitter.users, other, row).map(drop)
    }
}
