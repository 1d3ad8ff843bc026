//! Seeded randomness: xoshiro256++ (Blackman and Vigna, 2019), its state filled by SplitMix64.
//!
//! Written here because the numbers are part of what a seed means: an update of a library must not change histories.
//! One number costs about a nanosecond.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of a seed; nearby seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        Self {
            state: std::array::from_fn(|_| {
                counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mix(counter)
            }),
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number from 0 to `limit - 1`; 0 if the limit is 0.
    ///
    /// The bias is below 2^-32 for the limits used here.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from 0 up to but without 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// A duration around a mean: from half of it to one and a half.
    #[inline]
    pub fn around(&mut self, mean: u64) -> i64 {
        (mean / 2 + self.below(mean + 1)) as i64
    }
}

/// The finaliser of SplitMix64: spreads every bit of the input over the output.
#[inline]
pub fn mix(input: u64) -> u64 {
    let mut z = input;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_bounds_and_fill_them() {
        let mut random = Random::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
            assert!((50..=150).contains(&random.around(100)));
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_seed_is_a_stream() {
        let stream = |seed| {
            let mut random = Random::new(seed);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(stream(7), stream(7));
        assert_ne!(stream(7), stream(8));
    }
}
