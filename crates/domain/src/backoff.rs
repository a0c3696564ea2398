//! Pauses between the starts of something that keeps ending.

use std::time::Duration;

/// Doubles from the first pause to the last; begins anew after what ran long enough.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    last: Duration,
    next: Duration,
}

impl Backoff {
    /// What ran for so long was all right.
    pub const LONG_ENOUGH: Duration = Duration::from_secs(10);

    /// Pauses from `first` to `last`.
    pub fn new(first: Duration, last: Duration) -> Self {
        Self { first, last: last.max(first), next: first }
    }

    /// The pause after something ended that ran for `lasted`.
    pub fn pause(&mut self, lasted: Duration) -> Duration {
        if lasted >= Self::LONG_ENOUGH {
            self.next = self.first;
        }
        let pause = self.next;
        self.next = (pause * 2).min(self.last);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_last_and_begin_anew() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(350));
        let pauses: Vec<_> = (0..4).map(|_| backoff.pause(ms(5))).collect();
        assert_eq!(pauses, [ms(100), ms(200), ms(350), ms(350)]);
        assert_eq!(backoff.pause(Backoff::LONG_ENOUGH), ms(100));
    }
}
