//! Zipf-distributed ranks by rejection-inversion (Hoermann and Derflinger, 1996).
//!
//! Inverts the integral of the hat `x^-exponent` and rejects what lies above the histogram: constant time, no table,
//! fewer than 1.2 tries per number, so a million keys cost no memory.

use crate::random::Random;

/// Ranks from 0 to `count - 1`, rank `r` with weight `(r + 1)^-exponent`.
#[derive(Clone, Debug)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    integral_at_first: f64,
    integral_at_last: f64,
    sure: f64,
}

impl Zipf {
    /// The distribution over this many ranks (at least 1); an exponent of 0 is uniform.
    pub fn new(count: u64, exponent: f64) -> Self {
        let mut zipf =
            Self { count: count as f64, exponent, integral_at_first: 0.0, integral_at_last: 0.0, sure: 0.0 };
        zipf.integral_at_first = zipf.integral(1.5) - 1.0;
        zipf.integral_at_last = zipf.integral(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// A random rank.
    pub fn sample(&self, random: &mut Random) -> u64 {
        loop {
            let area =
                self.integral_at_last + random.unit() * (self.integral_at_first - self.integral_at_last);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the weight, up to a constant: `(x^(1-s) - 1) / (1-s)`, and `ln x` in the limit `s = 1`.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let scaled = (1.0 - self.exponent) * log;
        if scaled.abs() < 1e-8 { log * (1.0 + scaled / 2.0) } else { scaled.exp_m1() / (1.0 - self.exponent) }
    }

    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        if scaled.abs() < 1e-8 {
            (area * (1.0 - scaled / 2.0)).exp()
        } else {
            (scaled.ln_1p() / (1.0 - self.exponent)).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_weights() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.5] {
            let zipf = Zipf::new(5, exponent);
            let mut random = Random::new(3);
            let mut seen = [0f64; 5];
            for _ in 0..100_000 {
                seen[zipf.sample(&mut random) as usize] += 1.0;
            }
            let total: f64 = (1..=5).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for (rank, count) in seen.iter().enumerate() {
                let expected = 100_000.0 * (rank as f64 + 1.0).powf(-exponent) / total;
                assert!((count - expected).abs() < 1000.0, "{exponent} {seen:?}");
            }
        }
    }

    #[test]
    fn one_rank_is_always_chosen() {
        let mut random = Random::new(3);
        assert_eq!(Zipf::new(1, 0.99).sample(&mut random), 0);
    }
}
