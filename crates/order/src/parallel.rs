//! Several threads for one question.
//!
//! Work is cut into blocks that do not depend on the number of threads, each block gives a result of its own, and the
//! results are joined in the order of the blocks: so the answer is the same for any number of threads.
//!
//! How many threads there may be is said once, around the question ([`with_threads`]); everything below asks
//! [`join`] and [`map`], which do without further threads where there is only one. Threads are started anew for each
//! call, which costs some 30 µs: callers use them for passes over large tables only. Inside of a block there is one
//! thread.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tables with fewer rows are not worth a thread.
pub const LARGE: usize = 20_000;

thread_local! {
    static THREADS: Cell<usize> = const { Cell::new(1) };
}

/// Runs something that may use this many threads, its own included.
pub fn with_threads<T>(threads: usize, work: impl FnOnce() -> T) -> T {
    /// Sets the number back, also if the work panics.
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            THREADS.set(self.0);
        }
    }
    let _before = Before(THREADS.replace(threads.max(1)));
    work()
}

/// How many threads there may be here.
pub fn threads() -> usize {
    THREADS.get()
}

/// Runs two things, at the same time if there may be two threads.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if threads() < 2 {
        return (a(), b());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(b);
        let a = with_threads(1, a);
        (a, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The same, but only where it is worth a thread.
pub fn join_if<A: Send, B: Send>(
    is_large: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if is_large { join(a, b) } else { (a(), b()) }
}

/// What something makes of each of these, in their order.
pub fn map<I: Send, T: Send>(items: Vec<I>, work: impl Fn(I) -> T + Sync) -> Vec<T> {
    let threads = threads().min(items.len());
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let items: Vec<Mutex<Option<I>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let take = || {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let item = items.get(place)?.lock().expect("nothing panics while it holds the lock").take();
        item.map(|item| (place, item))
    };
    let run = || {
        let mut done = Vec::new();
        while let Some((place, item)) = take() {
            done.push((place, work(item)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut done = with_threads(1, run);
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|&(place, _)| place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whatever_the_number_of_threads() {
        for count in [0, 1, 2, 3, 7] {
            let squares = with_threads(count, || map((0..50).collect(), |number: u32| number * number));
            assert_eq!(squares, (0..50).map(|number| number * number).collect::<Vec<_>>());
            assert_eq!(with_threads(count, || join(|| 1, || "two")), (1, "two"));
        }
    }

    #[test]
    fn a_block_has_one_thread_and_the_caller_has_its_own_again() {
        let inside = with_threads(4, || {
            let inside = map(vec![(); 8], |()| threads());
            assert_eq!(threads(), 4);
            inside
        });
        assert_eq!(inside, [1; 8]);
        assert_eq!(threads(), 1);
    }

    #[test]
    fn slices_can_be_filled_in_blocks() {
        let mut numbers = vec![0; 100];
        with_threads(3, || {
            map(numbers.chunks_mut(7).enumerate().collect(), |(place, chunk)| chunk.fill(place));
        });
        assert!(numbers.is_sorted() && numbers[99] == 14);
    }
}
