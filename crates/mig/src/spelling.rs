//! What a misspelt word was probably meant to be.

/// The candidate that is nearest to `word`, if it is near enough to be worth a hint.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.len().div_ceil(3);
    let near = candidates.into_iter().map(|c| (distance(word, c), c)).filter(|(d, _)| *d <= limit && *d > 0);
    near.min_by_key(|(d, _)| *d).map(|(_, c)| c)
}

/// How many letters must be changed, added or removed. Long words are not compared.
fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 64;
    if a.len() > LONGEST || b.len() > LONGEST {
        return usize::MAX;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("rutine", ["skip", "routine", "simpleroutine"]), Some("routine"));
        assert_eq!(nearest("count_t", ["count_t"]), None, "the word itself is no hint");
        assert_eq!(nearest("xyz", ["routine"]), None);
    }
}
